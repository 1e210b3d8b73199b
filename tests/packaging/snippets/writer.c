/* A program that writes one file per task, for the frames of lines that capture them. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
  int rank;
  char name[40];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(name, sizeof name, "out/rank.%d", rank);
  FILE *file = fopen(name, "w");
  if (!file || fprintf(file, "task %d\n", rank) < 0 || fclose(file) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  return MPI_Finalize();
}
