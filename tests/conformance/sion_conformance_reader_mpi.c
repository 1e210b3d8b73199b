/* sion_conformance_reader_mpi LIST: reads multifiles in parallel and stores the streams of their tasks. Each
 * line of LIST describes one multifile:
 *
 *   WAY TASKS MODE FILE OUT
 *
 * WAY is `single` (sion_fread), `collective` (sion_coll_fread), `buddy` (sion_fread, with a local
 * communicator for every two tasks) or `mapped` (two processes read all tasks with sion_paropen_mapped_mpi).
 * The program writes the stream of task r to OUT.r. It needs at least two processes, and at least as many as
 * the largest TASKS. If a file cannot be read, the exit status is 1. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sion.h"

enum { PIECE = 1000 };

static int failed;

static void fail(const char* what, const char* file) {
  fprintf(stderr, "conformance reader: %s: %s\n", file, what);
  failed = 1;
}

/* Writes the rest of the current task's stream to OUT.task. If `together` is not NULL, the tasks of this
 * communicator read collectively, each as often as the task with the most data. */
static void store(int sid, int task, const char* out, const MPI_Comm* together, const char* file) {
  char name[4200], data[PIECE];
  snprintf(name, sizeof name, "%s.%d", out, task);
  FILE* target = fopen(name, "w");
  if (!target) fail("cannot store its stream", file);
  for (;;) {
    const int end = sion_feof(sid);
    int more = end == 0;
    if (end < 0) fail("reading ended before the end", file);
    if (together) MPI_Allreduce(MPI_IN_PLACE, &more, 1, MPI_INT, MPI_MAX, *together);
    if (!more) break;
    const size_t wanted = end ? 0 : PIECE, left = (size_t)sion_bytes_avail_in_block(sid);
    const size_t got = together ? sion_coll_fread(data, 1, wanted, sid) : sion_fread(data, 1, wanted, sid);
    if (got > wanted || (got == 0 && wanted > 0 && left > 0)) {
      fail("reading failed", file);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (target) fwrite(data, 1, got, target);
  }
  if (target) fclose(target);
}

static void read_own(const char* way, MPI_Comm comm, const char* mode, char* file, const char* out) {
  int rank, nfiles = 0, globalrank;
  sion_int64 chunk = 0;
  sion_int32 block = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm local = comm;
  if (!strcmp(way, "buddy")) MPI_Comm_split(comm, rank / 2, rank, &local);
  globalrank = rank;
  const int sid =
      sion_paropen_mpi(file, mode, &nfiles, comm, &local, &chunk, &block, &globalrank, NULL, NULL);
  if (sid < 0) {
    fail("sion_paropen_mpi failed", file);
  } else {
    store(sid, rank, out, strcmp(way, "collective") ? NULL : &comm, file);
    if (sion_parclose_mpi(sid) != SION_SUCCESS) fail("sion_parclose_mpi failed", file);
  }
  if (local != comm) MPI_Comm_free(&local);
}

static void read_mapped(MPI_Comm comm, const char* mode, char* file, const char* out) {
  int nfiles = 0, mine = -1;
  int *ranks = NULL, *files = NULL, *lranks = NULL;
  sion_int64* chunks = NULL;
  sion_int32 block = 0;
  const int sid = sion_paropen_mapped_mpi(file, mode, &nfiles, comm, &mine, &ranks, &chunks, &files, &lranks,
                                          &block, NULL);
  if (sid < 0) {
    fail("sion_paropen_mapped_mpi failed", file);
    return;
  }
  for (int i = 0; i < mine; i++) {
    if (!sion_seek(sid, ranks[i], 0, 0)) fail("a task cannot be selected", file);
    store(sid, ranks[i], out, NULL, file);
  }
  if (sion_parclose_mapped_mpi(sid) != SION_SUCCESS) fail("sion_parclose_mapped_mpi failed", file);
  free(ranks);
  free(chunks);
  free(files);
  free(lranks);
}

int main(int argc, char** argv) {
  char way[16], mode[64], file[4096], out[4096];
  int rank, tasks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  FILE* list = argc == 2 ? fopen(argv[1], "r") : NULL;
  if (!list) fail("cannot read the list", argc == 2 ? argv[1] : "no argument");
  while (list && fscanf(list, "%15s %d %63s %4095s %4095s", way, &tasks, mode, file, out) == 5) {
    const int mapped = !strcmp(way, "mapped");
    const int takes_part = rank < (mapped ? 2 : tasks);
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, rank, &comm);
    if (!takes_part) continue;
    if (mapped)
      read_mapped(comm, mode, file, out);
    else
      read_own(way, comm, mode, file, out);
    MPI_Comm_free(&comm);
  }
  if (list) fclose(list);
  MPI_Finalize();
  return failed;
}
