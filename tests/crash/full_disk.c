/* full_disk FILE BALLAST MODE ignore|repeat: an MPI program. Each task writes a checkpoint with MODE. Then it
 * writes a second checkpoint while the file BALLAST takes most of the disk.
 *
 * ignore: no task checks the results of its writes. The close must fail on all tasks, and its message must
 * name the place. If MODE has `atomic`, FILE must have the first checkpoint. repeat: task 0 removes the
 * ballast after a failure, and the tasks repeat the failed writes. The close must succeed, and FILE must have
 * the second checkpoint.
 *
 * The exit code is 1, with the problem on stdout, if a requirement is violated. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sheaf.h"
#include "sion.h"

enum { call_bytes = 50000, few_calls = 3, max_calls = 60 };

static int me, tasks, bad;

static void wrong(const char* what) {
  printf("[%d] %s (%s)\n", me, what, sheaf_last_error());
  bad = 1;
}

static int any(int mine) {
  int all = mine;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
  return all;
}

/* Fills `data` with bytes that no codec compresses and that differ for every call. */
static void fill(unsigned char* data, int generation, int task, int call) {
  unsigned state = (unsigned)(generation * 1000003 + task * 10007 + call * 101 + 1);
  for (int i = 0; i < call_bytes; ++i) {
    state = state * 1664525u + 1013904223u;
    data[i] = (unsigned char)(state >> 24);
  }
}

static int open_file(const char* file, const char* mode) {
  int files = strstr(mode, "files=2") ? 2 : 1, rank = me;
  sion_int32 block = 4096;
  sion_int64 chunk = 4 * call_bytes;
  MPI_Comm local = MPI_COMM_NULL;
  const int sid =
      sion_paropen_mpi(file, mode, &files, MPI_COMM_WORLD, &local, &chunk, &block, &rank, NULL, NULL);
  if (sid < 0) wrong("open");
  return sid;
}

static int write_call(int sid, int together, const unsigned char* data, size_t bytes) {
  return (together ? sion_coll_fwrite(data, 1, bytes, sid) : sion_fwrite(data, 1, bytes, sid)) == bytes;
}

/* Returns whether the stream of task t of FILE has exactly the bytes of `calls` calls of a generation. Only
 * task 0 calls it. */
static int has(const char* file, int t, int generation, int calls) {
  unsigned char *wanted = malloc(call_bytes), *found = malloc(call_bytes);
  int rank = t, right = 1;
  const int sid = sion_open_rank((char*)file, "rb", NULL, NULL, &rank, NULL);
  if (sid < 0) right = 0;
  for (int call = 0; right && call < calls; ++call) {
    fill(wanted, generation, t, call);
    right = sion_fread(found, 1, call_bytes, sid) == call_bytes && memcmp(wanted, found, call_bytes) == 0;
  }
  if (right) right = sion_feof(sid) == 1;
  if (sid >= 0) sion_close(sid);
  free(wanted);
  free(found);
  return right;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &tasks);
  if (argc != 5) MPI_Abort(MPI_COMM_WORLD, 2);
  const char *const file = argv[1], *const ballast = argv[2], *const mode = argv[3];
  const int repeats = strcmp(argv[4], "repeat") == 0, together = strstr(mode, "collective") != NULL;
  sheaf_print_errors(0);
  unsigned char* const data = malloc(call_bytes);

  int sid = open_file(file, mode);
  for (int call = 0; sid >= 0 && call < few_calls; ++call) {
    fill(data, 1, me, call);
    if (!write_call(sid, together, data, call_bytes)) wrong("write of the first checkpoint");
  }
  if (sid >= 0 && !sion_parclose_mpi(sid)) wrong("close of the first checkpoint");

  MPI_Barrier(MPI_COMM_WORLD);
  if (me == 0) {
    FILE* const taken = fopen(ballast, "w");
    setvbuf(taken, NULL, _IONBF, 0);
    while (fwrite(data, 1, call_bytes, taken) == call_bytes) {
    }
    if (ftruncate(fileno(taken), ftell(taken) - 12 * call_bytes) != 0) wrong("ballast");
    fclose(taken);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  sid = open_file(file, mode);
  int calls = 0, failed = 0;
  for (; sid >= 0 && calls < max_calls; ++calls) {
    fill(data, 2, me, calls);
    const int mine = !write_call(sid, together, data, call_bytes);
    failed |= any(mine);
    if (!failed || !repeats) continue;
    if (me == 0) unlink(ballast);
    MPI_Barrier(MPI_COMM_WORLD);
    int left = mine;
    for (int tries = 0; any(left) && tries < 4; ++tries)
      if (left || together) left = !write_call(sid, together, data, left ? call_bytes : 0);
    if (left) wrong("the repeated write");
    ++calls;
    break;
  }
  if (!failed) wrong("the disk was never full");
  if (me == 0) unlink(ballast);
  MPI_Barrier(MPI_COMM_WORLD);
  const int closed = sid >= 0 ? sion_parclose_mpi(sid) : -1;
  if (closed != repeats)
    wrong(repeats ? "close of what was repeated" : "close succeeded, and bytes are missing");
  if (!repeats && !strstr(sheaf_last_error(), "has failed and was not repeated"))
    wrong("the close does not say what has failed");
  MPI_Barrier(MPI_COMM_WORLD);
  for (int t = 0; me == 0 && t < tasks; ++t) {
    if (repeats && !has(file, t, 2, calls)) wrong("the second checkpoint is not there");
    if (!repeats && strstr(mode, "atomic") && !has(file, t, 1, few_calls))
      wrong("the first checkpoint is not there");
  }
  free(data);
  const int code = any(bad);
  MPI_Finalize();
  return code;
}
