/* build: mpicc $(sionconfig --cflags --mpi) app.c -o app $(sionconfig --libs --mpi)
   run: mpirun -n 4 ./app
   run: sheaf verify data.sion */
#include <mpi.h>
#include <sion.h>
@INCLUDES@

static int run(void) {
  int files = 1, minus_one = -1, rank = 0, block = -1;
  size_t bytes = 0;
  char buffer[100] = "some";
  sion_int64 chunk = sizeof buffer;
  MPI_Comm comm = MPI_COMM_WORLD, node = MPI_COMM_NULL;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_split(comm, rank / 2, rank, &node); /* as if each host had two tasks */
  bytes = rank == 1 ? 0 : sizeof buffer;
  @SNIPPET@
  (void)files, (void)minus_one, (void)buffer, (void)bytes, (void)node;
  return sid < 0;
}

int main(int argc, char **argv) {
  int bad;
  MPI_Init(&argc, &argv);
  bad = run();
  MPI_Finalize();
  return bad;
}
