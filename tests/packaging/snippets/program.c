/* A program of MPI-IO: every task writes a word to the file named by the argument. */
#include <mpi.h>

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "x";
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_write_ordered(file, "text", 4, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  return MPI_Finalize();
}
