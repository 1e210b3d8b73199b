/* sion_conformance_writer_mapped_mpi DESCRIPTION_FILE: writes one multifile with sion_paropen_mapped_mpi,
 * following a description (sion_conformance_script.h). Each process has the tasks that it owns, in descending
 * order. The exit status is 0, or 1 with a message on failure. */
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
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 2) fail(0, "usage: sion_conformance_writer_mapped_mpi DESCRIPTION_FILE");
  char* text = share_description(argv[1], rank);
  struct script script = parse_script(text);

  const size_t most = (size_t)script.ntasks;
  int* ranks = allocate(most, sizeof *ranks);
  int* files = allocate(most, sizeof *files);
  int* lranks = allocate(most, sizeof *lranks);
  sion_int64* chunks = allocate(most, sizeof *chunks);
  struct progress* done = allocate(most, sizeof *done);
  int mine = 0;
  for (int task = script.ntasks; task-- > 0;) {
    done[task] = (struct progress){script.written[task], script.records[task]};
    if (script.owners[task] != rank) continue;
    ranks[mine] = task;
    files[mine] = script.files[task];
    lranks[mine] = script.lranks[task];
    chunks[mine++] = script.chunks[task];
  }
  FILE* fileptr = NULL;
  const int sid = sion_paropen_mapped_mpi(script.name, script.mode, &script.numfiles, MPI_COMM_WORLD, &mine,
                                          &ranks, &chunks, &files, &lranks, &script.fsblksize,
                                          strcmp(script.via, "file") ? NULL : &fileptr);
  if (sid < 0) fail(0, "sion_paropen_mapped_mpi failed");
  for (size_t i = 0; i < script.nops; i++) {
    const struct op* op = &script.ops[i];
    if (op->kind == OP_COLLWRITE) fail(op->line, "collwrite needs sion_paropen_mpi");
    if (op->kind == OP_DIE) die();
    if (script.owners[op->rank] != rank) continue;
    if (!sion_seek(sid, op->rank, SION_CURRENT_BLK, SION_CURRENT_POS))
      fail(op->line, "the task cannot be selected");
    apply_op(&script, op, op->rank, sid, &done[op->rank]);
  }
  if (sion_parclose_mapped_mpi(sid) != SION_SUCCESS) fail(0, "sion_parclose_mapped_mpi failed");
  free(ranks);
  free(files);
  free(lranks);
  free(chunks);
  free(done);
  free_script(&script);
  free(text);
  MPI_Finalize();
  return 0;
}
