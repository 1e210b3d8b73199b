/* A program of parallel HDF5: four tasks write their ranks to one dataset. With an argument, reads and
 * compares. */
#include <hdf5.h>
#include <mpi.h>

int main(int argc, char** argv) {
  int rank, i, ranks[4] = {-1, -1, -1, -1};
  hsize_t all = 4, one = 1, place;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  place = (hsize_t)rank;
  hid_t parallel = H5Pcreate(H5P_FILE_ACCESS), together = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_fapl_mpio(parallel, MPI_COMM_WORLD, MPI_INFO_NULL);
  H5Pset_dxpl_mpio(together, H5FD_MPIO_COLLECTIVE);
  if (argc > 1) {
    hid_t file = H5Fopen("data.h5", H5F_ACC_RDONLY, parallel), set = H5Dopen2(file, "ranks", H5P_DEFAULT);
    if (H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, together, ranks) < 0) MPI_Abort(MPI_COMM_WORLD, 1);
    for (i = 0; i < 4; i++)
      if (ranks[i] != i) MPI_Abort(MPI_COMM_WORLD, 2);
    H5Dclose(set);
    H5Fclose(file);
  } else {
    hid_t file = H5Fcreate("data.h5", H5F_ACC_TRUNC, H5P_DEFAULT, parallel),
          space = H5Screate_simple(1, &all, NULL);
    hid_t set = H5Dcreate2(file, "ranks", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t memory = H5Screate_simple(1, &one, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &place, NULL, &one, NULL);
    if (H5Dwrite(set, H5T_NATIVE_INT, memory, space, together, &rank) < 0) MPI_Abort(MPI_COMM_WORLD, 3);
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(set);
    H5Fclose(file);
  }
  H5Pclose(parallel);
  H5Pclose(together);
  return MPI_Finalize();
}
