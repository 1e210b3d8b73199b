/* A program of MPI and Sheaf, for the frames of lines that link one. */
#include <mpi.h>
#include <sion.h>

int main(int argc, char **argv) {
  int files = 1, rank, block = -1, sid;
  sion_int64 chunk = sizeof rank;
  MPI_Comm all = MPI_COMM_NULL;
  MPI_Init(&argc, &argv);
  sid = sion_paropen_mpi("data.sion", "wb", &files, MPI_COMM_WORLD, &all, &chunk, &block, &rank, NULL, NULL);
  if (sion_fwrite(&rank, sizeof rank, 1, sid) != 1) MPI_Abort(MPI_COMM_WORLD, 1);
  sion_parclose_mpi(sid);
  return MPI_Finalize();
}
