/* settings FILE: opens and closes FILE twice. The program is linked with the MPI alone. */
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_File file;
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 2; ++i)
    if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
        MPI_SUCCESS)
      MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
