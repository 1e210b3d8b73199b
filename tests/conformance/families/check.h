/* check.h: code that all programs in this directory share. It counts checks, runs a case on some of the
 * tasks, and computes the names and contents of files.
 *
 * A program runs on N tasks and gets a directory as its first argument. It runs tables of cases. Each case
 * states its number of tasks, and cases with more than N tasks are left out. A second argument selects the
 * cases whose names contain it. A check compares the result of a call with the specification of the
 * interface, prints a difference, and continues. The last line of output is "K checks, M failed". */
#ifndef FAMILIES_CHECK_H
#define FAMILIES_CHECK_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <sion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))
#define MOST 24 /* maximum number of tasks of a case, threads included */

static struct {
  int world_rank, world_size; /* rank and size of the program */
  MPI_Comm comm;              /* communicator of the current case */
  int rank, size;
  const char* name; /* name of the current case */
  const char* directory;
  const char* only; /* part of the names of the selected cases; NULL: all cases */
  long long checks, failures;
} run;

static char hang_text[400];

/* Handles SIGALRM: reports the current case, which has exceeded its time limit, and ends the program. */
static void hang(int signal_number) {
  (void)signal_number;
  if (write(1, hang_text, strlen(hang_text)) < 0) _exit(3);
  _exit(3);
}

static void failed(const char* where, const char* what, const char* expected, const char* found) {
  run.failures++;
  printf("FAILED %s [task %d of %d] %s: %s: expected %s, found %s\n", run.name, run.rank, run.size, where,
         what, expected, found);
  fflush(stdout);
}

/* Checks that a number has the expected value. Returns 1 if it has. */
static inline int expect(const char* where, const char* what, long long expected, long long found) {
  char wanted[32], got[32];
  run.checks++;
  if (expected == found) return 1;
  snprintf(wanted, sizeof wanted, "%lld", expected);
  snprintf(got, sizeof got, "%lld", found);
  failed(where, what, wanted, got);
  return 0;
}

/* Checks that a string has the expected value. NULL is a valid value. */
static inline int expect_text(const char* where, const char* what, const char* expected, const char* found) {
  run.checks++;
  if (expected == found || (expected && found && !strcmp(expected, found))) return 1;
  failed(where, what, expected ? expected : "NULL", found ? found : "NULL");
  return 0;
}

/* Returns byte `at` of the stream of `task`. */
static inline unsigned char byte_of(int task, long long at) {
  return (unsigned char)(task * 37 + at * 7 + at / 251 * 3 + 1);
}

static inline void fill(unsigned char* data, int task, long long at, long long bytes) {
  for (long long i = 0; i < bytes; i++) data[i] = byte_of(task, at + i);
}

/* Checks that `data` are the bytes of the stream of `task` from offset `at`. */
static inline int expect_bytes(const char* where, int task, long long at, const unsigned char* data,
                               long long bytes) {
  long long same = 0;
  while (same < bytes && data[same] == byte_of(task, at + same)) same++;
  return expect(where, "bytes read that are right", bytes, same);
}

static inline long long align_up(long long value, long long unit) { return (value + unit - 1) / unit * unit; }

/* Returns the path of a file in the program's directory. The result is valid until the fourth call after this
 * one. */
static inline const char* path(const char* name) {
  static char paths[4][700];
  static int next;
  char* one = paths[next++ % 4];
  snprintf(one, sizeof paths[0], "%s/%s", run.directory, name);
  return one;
}

/* Returns the name of physical file `number` of the set `base` (docs/format.md, section 6). */
static inline const char* file_name(const char* base, int number) {
  static char name[800];
  snprintf(name, sizeof name, number ? "%s.%06d" : "%s", base, number);
  return name;
}

/* Waits for a request without occupying a core, because tests run more tasks than there are cores. */
static inline int wait_for(MPI_Request request) {
  int done = 0;
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) sched_yield();
  return done ? 0 : 1;
}

/* Waits until all tasks of the case have called. */
static inline void meet(void) {
  MPI_Request request;
  MPI_Ibarrier(run.comm, &request);
  wait_for(request);
}

/* Waits until all tasks of the program have called. Waiting tasks sleep and leave the cores to the tasks of
 * the case. */
static void all_meet(void) {
  MPI_Request request;
  int done = 0;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) return;
    nanosleep(&(struct timespec){0, 500000}, NULL);
  }
}

/* Begins a case for `tasks` tasks. Returns 1 on the tasks that take part; only they may use run.comm. All
 * tasks of the program must call end_case(). */
static inline int begin_case(const char* name, int tasks) {
  run.name = name;
  run.comm = MPI_COMM_NULL;
  if (tasks > run.world_size) return 0;
  if (run.only && !strstr(name, run.only) && strncmp(name, "written for", 11)) return 0;
  snprintf(hang_text, sizeof hang_text, "FAILED %s [task %d of %d]: does not end\n", name, run.world_rank,
           tasks);
  alarm(40);
  if (run.world_rank >= tasks) return 0;
  MPI_Group world, part;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_range_incl(world, 1, (int[1][3]){{0, tasks - 1, 1}}, &part);
  MPI_Comm_create_group(MPI_COMM_WORLD, part, 7, &run.comm);
  MPI_Group_free(&world);
  MPI_Group_free(&part);
  MPI_Comm_rank(run.comm, &run.rank);
  MPI_Comm_size(run.comm, &run.size);
  return 1;
}

static inline void end_case(int tasks) {
  if (tasks > run.world_size) return;
  if (run.comm != MPI_COMM_NULL) MPI_Comm_free(&run.comm);
  all_meet();
  alarm(0);
}

/* Sets an environment variable, or removes it if `value` is NULL. All tasks of the case must call it. */
static inline void environment(const char* name, const char* value) {
  if (value)
    setenv(name, value, 1);
  else
    unsetenv(name);
}

/* Initializes MPI with the thread level `level` and reads the program's arguments. */
static inline void begin_program(int* argc, char*** argv, int level) {
  int given;
  MPI_Init_thread(argc, argv, level, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &run.world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &run.world_size);
  run.directory = *argc > 1 ? (*argv)[1] : ".";
  run.only = *argc > 2 ? (*argv)[2] : NULL;
  signal(SIGALRM, hang);
}

/* Adds up and prints the checks of all tasks, finalizes MPI, and returns the exit code of main(). */
static inline int end_program(void) {
  long long mine[2] = {run.checks, run.failures}, all[2];
  all_meet();
  MPI_Reduce(mine, all, 2, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Bcast(all, 2, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  if (run.world_rank == 0) printf("%lld checks, %lld failed\n", all[0], all[1]);
  fflush(stdout);
  MPI_Finalize();
  return all[1] != 0;
}

#endif
