/* sion_conformance_writer_mpi DESCRIPTION_FILE: writes one multifile with sion_paropen_mpi, following a
 * description (sion_conformance_script.h). Each process is the task of its rank. The exit status is 0, or 1
 * with a message on failure. */
#include <mpi.h>

#include "sion_conformance_script.h"

/* Reads the description on rank 0 and broadcasts it. Every rank must free the returned copy. Collective. */
static char* share_description(const char* path, int rank) {
  char* text = NULL;
  unsigned long long size = 0;
  if (rank == 0) {
    FILE* in = fopen(path, "r");
    if (in) {
      text = read_all(in);
      size = strlen(text) + 1;
      fclose(in);
    }
  }
  MPI_Bcast(&size, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
  if (size == 0) fail(0, "cannot read the description");
  if (rank != 0) text = allocate((size_t)size, 1);
  MPI_Bcast(text, (int)size, MPI_CHAR, 0, MPI_COMM_WORLD);
  return text;
}

/* Ends this process without a close, as a kill would. mpirun does not report an error. */
static void die(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  _exit(0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, processes;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  if (argc != 2) fail(0, "usage: sion_conformance_writer_mpi DESCRIPTION_FILE");
  char* text = share_description(argv[1], rank);
  struct script script = parse_script(text);
  if (script.ntasks != processes) fail(0, "as many processes as tasks are needed");

  MPI_Comm group;
  MPI_Comm_split(MPI_COMM_WORLD, script.groups[rank], rank, &group);
  FILE* fileptr = NULL;
  char* newfname = NULL;
  int globalrank = -1;
  const int sid = sion_paropen_mpi(script.name, script.mode, &script.numfiles, MPI_COMM_WORLD, &group,
                                   &script.chunks[rank], &script.fsblksize, &globalrank,
                                   strcmp(script.via, "file") ? NULL : &fileptr, &newfname);
  if (sid < 0) fail(0, "sion_paropen_mpi failed");
  if (globalrank != rank || !newfname) fail(0, "sion_paropen_mpi returned a wrong rank or no file name");

  struct progress done = {script.written[rank], script.records[rank]};
  for (size_t i = 0; i < script.nops; i++) {
    const struct op* op = &script.ops[i];
    if (op->kind == OP_DIE) die();
    if (op->kind == OP_COLLWRITE || op->rank == rank) apply_op(&script, op, rank, sid, &done);
  }
  if (sion_parclose_mpi(sid) != SION_SUCCESS) fail(0, "sion_parclose_mpi failed");
  free(newfname);
  free_script(&script);
  free(text);
  MPI_Comm_free(&group);
  MPI_Finalize();
  return 0;
}
