// modes write|half|append|read|both CASE FILE TASK_SHIFT: writes the multifile FILE with the options of CASE,
// or reads it and compares every byte.
//
// `half` writes the first half of the records, and `append` appends the second half. `both` writes and reads
// in one run. Task t of a run is rank (t + TASK_SHIFT) of MPI_COMM_WORLD, modulo the number of tasks. So a
// run with another shift can place every task on another host. Without arguments, the program prints the
// cases.
//
// The exit code is 0 if all bytes are right, 1 if bytes are wrong or missing, and 2 if a call failed. Task 0
// prints the numbers of missing and wrong bytes and of tasks with a failed call. A task with such bytes or a
// failed call prints a line about them.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sheaf.h"
#include "sion.h"
#include "sion_generic.h"
#include "sion_mpi.h"

enum { plain = 0, collective = 1, keyval = 2, mapped = 4, flushed = 8, per_node = 16, merged = 32 };

typedef struct {
  const char* name;
  const char* words;
  int how;
  int files;         // -1: one per host
  sion_int32 block;  // block size passed to the open; below a page, tasks share pages
  sion_int64 chunk;
  int records;
  int bytes;  // bytes of a record
} Case;

static const Case cases[] = {
    {"plain", "", plain, 1, -1, 4096, 4, 3000},
    {"plain-512", "", plain, 1, 512, 4096, 12, 3001},
    {"plain-large", "", plain, 1, -1, 100000, 16, 70001},
    {"plain-large-512", "", plain, 1, 512, 100000, 16, 70001},
    {"unbuffered", "buffer=0", plain, 1, 512, 4096, 40, 777},
    {"bare", "checksums=off,journal=off", plain, 1, 512, 5000, 20, 3001},
    {"flushed", "", flushed, 1, 512, 5000, 20, 1777},
    {"durable", "durable", flushed, 1, 512, 5000, 12, 2777},
    {"files", "", plain, 2, -1, 4096, 12, 3333},
    {"files-node", "", per_node, -1, 512, 4096, 12, 3333},
    {"atomic", "atomic", plain, 1, -1, 4096, 12, 3333},
    {"compress", "compress=zstd,frame=4k", plain, 1, 512, 9000, 30, 3100},
    {"keyval", "keyval", keyval, 1, 512, 5000, 25, 1234},
    {"mapped", "", mapped, 2, 512, 4096, 12, 2222},
    {"collective", "collective", collective, 1, -1, 4096, 12, 3000},
    {"collective-large", "collective", collective, 1, -1, 100000, 16, 70001},
    {"collective-2", "collective,collsize=2", collective, 1, 512, 6000, 20, 1501},
    {"collective-durable", "collective,durable", collective, 1, 512, 6000, 20, 1501},
    {"collective-compress", "collective,collsize=2,compress=lz4", collective, 1, 512, 9000, 20, 1501},
    {"merged", "collective,cmerge,collsize=3", collective | merged, 1, 512, 6000, 20, 1501},
    {"buddy", "collective,buddy", collective | per_node, -1, -1, 6000, 20, 1501},
};

static MPI_Comm tasks_comm;
static int task, tasks;
static const Case* c;
static char failure[1000];

static unsigned char content(int of, long at) {
  return (unsigned char)(31 + 17 * (of + 1) + 5 * at + at / 251 + at / 65521 + (at * 2654435761ul >> 13));
}

static void fill(unsigned char* data, int of, long from, int bytes) {
  for (int i = 0; i < bytes; ++i) data[i] = content(of, from + i);
}

static int failed(const char* call) {
  snprintf(failure, sizeof failure, "task %d, %s: %s", task, call, sheaf_last_error());
  return 0;
}

static long total(void) { return (long)c->records * c->bytes; }
static int locals(void) { return c->how & mapped ? 2 : 1; }
static int local_task(int i) { return c->how & mapped ? (task + i * tasks) : task; }

// Opens in `mode`. Returns the handle, or -1 on every task.
static int open_multifile(const char* file, const char* mode) {
  char words[200], name[4096];
  snprintf(words, sizeof words, "%s%s%s", mode, *c->words ? "," : "", c->words);
  snprintf(name, sizeof name, "%s", file);
  int files = c->files, own = locals(), rank = task;
  sion_int32 block = c->block;
  if (c->how & mapped) {
    int globals[2], numbers[2], ranks[2];
    sion_int64 chunks[2];
    for (int i = 0; i < 2; ++i) {
      globals[i] = local_task(i);
      numbers[i] = globals[i] % 2;
      ranks[i] = globals[i] / 2;
      chunks[i] = c->chunk;
    }
    int *g = globals, *n = numbers, *r = ranks;
    sion_int64* s = chunks;
    return sion_paropen_mapped_mpi(name, words, &files, tasks_comm, &own, &g, &s, &n, &r, &block, NULL);
  }
  MPI_Comm local = tasks_comm;
  if (c->how & per_node) MPI_Comm_split_type(tasks_comm, MPI_COMM_TYPE_SHARED, task, MPI_INFO_NULL, &local);
  sion_int64 chunk = c->chunk;
  const int sid =
      sion_paropen_mpi(name, words, &files, tasks_comm, &local, &chunk, &block, &rank, NULL, NULL);
  if (local != tasks_comm) MPI_Comm_free(&local);
  return sid;
}

static int close_multifile(int sid) {
  const int ok = c->how & mapped ? sion_parclose_mapped_mpi(sid) : sion_parclose_mpi(sid);
  return ok == SION_SUCCESS ? 1 : failed("close");
}

// Writes the records [first, end) of this task. Returns 1 if every call has succeeded.
static int put(int sid, int first, int end) {
  unsigned char* const data = malloc((size_t)c->bytes);
  int fine = 1;
  for (int i = 0; i < locals() && fine; ++i) {
    if (c->how & mapped && sion_seek(sid, local_task(i), SION_CURRENT_BLK, SION_CURRENT_POS) != SION_SUCCESS)
      fine = failed("seek");
    for (int r = first; r < end && fine; ++r) {
      fill(data, local_task(i), (long)r * c->bytes, c->bytes);
      const size_t bytes = (size_t)c->bytes;
      const size_t done = c->how & collective ? sion_coll_fwrite(data, 1, bytes, sid)
                          : c->how & keyval   ? sion_fwrite_key(data, (uint64_t)(r % 3), 1, bytes, sid)
                                              : sion_fwrite(data, 1, bytes, sid);
      if (done != bytes) fine = failed("write");
      if (fine && c->how & flushed && sion_flush(sid) != SION_SUCCESS) fine = failed("flush");
    }
  }
  free(data);
  return fine;
}

// Returns how many of the `got` bytes read at offset `at` differ. Stores the offset of the first one in
// `first` if `first` is negative.
static long differing(const unsigned char* data, int of, long at, size_t got, long* first) {
  long wrong = 0;
  for (size_t i = 0; i < got; ++i)
    if (data[i] != content(of, at + (long)i) && wrong++ == 0 && *first < 0) *first = at + (long)i;
  return wrong;
}

// Reads in merged mode. The stream of a collector must have each record of its group exactly once, in any
// order.
static int get_merged(int sid, long* missing, long* wrong) {
  const size_t bytes = (size_t)c->bytes;
  const int count = tasks * c->records;
  unsigned char *const data = malloc(bytes), *const wanted = malloc(bytes);
  int* const seen = calloc((size_t)count, sizeof *seen);
  while (sion_fread(data, 1, bytes, sid) == bytes) {
    int found = 0;
    for (int i = 0; i < count && !found; ++i) {
      fill(wanted, i / c->records, (long)(i % c->records) * c->bytes, c->bytes);
      if (memcmp(data, wanted, bytes) == 0) found = ++seen[i];
    }
    if (!found) *wrong += c->bytes;
  }
  MPI_Allreduce(MPI_IN_PLACE, seen, count, MPI_INT, MPI_SUM, tasks_comm);
  for (int i = task * c->records; i < (task + 1) * c->records; ++i) {
    if (seen[i] == 0) *missing += c->bytes;
    if (seen[i] > 1) *wrong += c->bytes;
  }
  free(data);
  free(wanted);
  free(seen);
  return 1;
}

// Reads the whole stream and counts the missing and wrong bytes of this task.
static int get(int sid, long* missing, long* wrong, long* first) {
  const size_t bytes = (size_t)c->bytes;
  unsigned char* const data = malloc(bytes);
  for (int i = 0; i < locals(); ++i) {
    if (c->how & mapped &&
        sion_seek(sid, local_task(i), SION_CURRENT_BLK, SION_CURRENT_POS) != SION_SUCCESS) {
      free(data);
      return failed("seek");
    }
    for (int r = 0; r < c->records; ++r) {
      const size_t done = c->how & collective ? sion_coll_fread(data, 1, bytes, sid)
                          : c->how & keyval   ? sion_fread_key(data, (uint64_t)(r % 3), 1, bytes, sid)
                                              : sion_fread(data, 1, bytes, sid);
      const size_t got = done <= bytes ? done : 0;
      *missing += (long)(bytes - got);
      *wrong += differing(data, local_task(i), (long)r * c->bytes, got, first);
      if (got != bytes && !*failure) failed("read");
    }
    if (!(c->how & keyval) && sion_fread(data, 1, 1, sid) == 1)
      ++*wrong;  // bytes after the end of what was written
  }
  free(data);
  return 1;
}

// Combines the results of all tasks. Task 0 prints them. Returns the program's exit code, the same on every
// task.
static int outcome(const char* what, int fine, long missing, long wrong, long first) {
  long sums[3] = {missing, wrong, fine ? 0 : 1}, all[3];
  MPI_Allreduce(sums, all, 3, MPI_LONG, MPI_SUM, tasks_comm);
  if (task == 0)
    printf("%s %s: %ld missing, %ld wrong of %ld bytes, %ld of %d tasks had a failing call\n", what, c->name,
           all[0], all[1], total() * tasks * locals(), all[2], tasks);
  if (missing || wrong)
    printf("task %d: %ld missing, %ld wrong, first at %ld\n", task, missing, wrong, first);
  if (*failure) printf("%s\n", failure);
  fflush(stdout);
  return all[2] ? 2 : all[0] || all[1] ? 1 : 0;
}

static int write_all(const char* file, const char* mode, int first, int end) {
  const int sid = open_multifile(file, mode);
  int fine = sid >= 0 ? 1 : failed("open");
  if (sid >= 0) {
    fine = put(sid, first, end);
    fine &= close_multifile(sid);
  }
  return outcome(*mode == 'w' ? "write" : "append", fine, 0, 0, 0);
}

static int read_all(const char* file) {
  long missing = 0, wrong = 0, first = -1;
  const int sid = open_multifile(file, "rb");
  int fine = sid >= 0 ? 1 : failed("open");
  if (sid >= 0) {
    fine = c->how & merged ? get_merged(sid, &missing, &wrong) : get(sid, &missing, &wrong, &first);
    fine &= close_multifile(sid);
  }
  return outcome("read", fine, missing, wrong, first);
}

int main(int argc, char** argv) {
  const int count = (int)(sizeof cases / sizeof *cases);
  if (argc < 5) {
    for (int i = 0; i < count; ++i) printf("%s %s\n", cases[i].name, *cases[i].words ? cases[i].words : "-");
    return argc < 2 ? 0 : 2;
  }
  MPI_Init(&argc, &argv);
  sheaf_print_errors(0);
  int rank = 0, code = 2;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &tasks);
  MPI_Comm_split(MPI_COMM_WORLD, 0, (rank - atoi(argv[4]) % tasks + tasks) % tasks, &tasks_comm);
  MPI_Comm_rank(tasks_comm, &task);
  for (int i = 0; i < count; ++i)
    if (strcmp(argv[2], cases[i].name) == 0) c = &cases[i];
  if (c == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  const char* const file = argv[3];
  if (strcmp(argv[1], "write") == 0) code = write_all(file, "wb", 0, c->records);
  if (strcmp(argv[1], "half") == 0) code = write_all(file, "wb", 0, c->records / 2);
  if (strcmp(argv[1], "append") == 0) code = write_all(file, "append", c->records / 2, c->records);
  if (strcmp(argv[1], "read") == 0) code = read_all(file);
  if (strcmp(argv[1], "both") == 0) {
    code = write_all(file, "wb", 0, c->records);
    const int read = read_all(file);
    if (code == 0) code = read;
  }
  MPI_Comm_free(&tasks_comm);
  MPI_Finalize();
  return code;
}
