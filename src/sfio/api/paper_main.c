/* libsheaf_sfio_main: a main() that starts MPI and the listeners and then calls the program's _main(), as in
 * the SFIO paper. The environment variable SHEAF_SFIO selects the listeners. */
#include <mpi.h>

#include "mio.h"

int rank(void) {
  int number = -1;
  if (sfio_comm() != MPI_COMM_NULL) MPI_Comm_rank(sfio_comm(), &number);
  return number;
}

int main(int argc, char* argv[]) {
  int level, result = 0;
  MPI_Comm compute;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (sfio_start(MPI_COMM_WORLD, NULL, &compute) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  if (compute != MPI_COMM_NULL) {
    result = _main(argc, argv);
    sfio_stop();
  }
  MPI_Finalize();
  return result;
}
