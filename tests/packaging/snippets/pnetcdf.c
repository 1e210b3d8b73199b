/* A program of PnetCDF: four tasks write their ranks to one variable. With an argument, reads and compares.
 */
#include <mpi.h>
#include <pnetcdf.h>

int main(int argc, char** argv) {
  int rank, i, file, dimension, variable, ranks[4] = {-1, -1, -1, -1}, bad = 0;
  MPI_Offset place, one = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  place = rank;
  if (argc > 1) {
    bad |= ncmpi_open(MPI_COMM_WORLD, "data.nc", NC_NOWRITE, MPI_INFO_NULL, &file);
    bad |= ncmpi_inq_varid(file, "ranks", &variable) | ncmpi_get_var_int_all(file, variable, ranks);
    for (i = 0; i < 4; i++) bad |= ranks[i] != i;
  } else {
    bad |= ncmpi_create(MPI_COMM_WORLD, "data.nc", NC_CLOBBER, MPI_INFO_NULL, &file);
    bad |= ncmpi_def_dim(file, "tasks", 4, &dimension);
    bad |= ncmpi_def_var(file, "ranks", NC_INT, 1, &dimension, &variable) | ncmpi_enddef(file);
    bad |= ncmpi_put_vara_int_all(file, variable, &place, &one, &rank);
  }
  bad |= ncmpi_close(file);
  if (bad) MPI_Abort(MPI_COMM_WORLD, 1);
  return MPI_Finalize();
}
