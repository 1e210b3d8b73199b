/* Writes records for ever, like a program that reaches its time limit. */
#include <mpi.h>
#include <sion.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int files = 1, rank, block = -1, sid;
  sion_int64 chunk = 1 << 20;
  MPI_Comm all = MPI_COMM_NULL;
  MPI_Init(&argc, &argv);
  sid = sion_paropen_mpi("data.sion", "wb", &files, MPI_COMM_WORLD, &all, &chunk, &block, &rank, NULL, NULL);
  for (;;) {
    if (sion_fwrite("record of 17 byte", 1, 17, sid) != 17) MPI_Abort(MPI_COMM_WORLD, 1);
    usleep(1000);
  }
}
