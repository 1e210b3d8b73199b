/* process_group.h: callbacks of the generic interface for forked processes that communicate through shared
 * memory. With them, tests write parallel multifiles without an MPI on every architecture. Group 0 has all
 * tasks. Each further group has the tasks of one physical file. */
#ifndef PROCESS_GROUP_H
#define PROCESS_GROUP_H

#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sion.h"

enum {
  MOST_TASKS = 16,
  GROUPS = MOST_TASKS + 2,
  SLOT = 1 << 16,
  MAY_COLLECT_AND_SEND = 50 /* docs/api-generic.md */
};

/* The data that one task passes to others. */
struct mailbox {
  sem_t filled, emptied;
  sion_int64 spec[2];
  char data[SLOT];
};

struct board {
  pthread_barrier_t meeting;
  int size;
  struct mailbox of[MOST_TASKS];
};

/* A group as seen by one of its tasks. */
struct group_view {
  struct board* board;
  int rank;
};

/* GROUPS boards in shared memory, one for each group. There is one more than files, because a file that was
 * written serially may state that it is file 1 of 1. */
static struct board* boards;

static void stop(const char* what) {
  fprintf(stderr, "conformance processes: %s\n", what);
  _exit(1);
}

static void set_up(struct board* board, int size) {
  pthread_barrierattr_t shared;
  pthread_barrierattr_init(&shared);
  pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  if (pthread_barrier_init(&board->meeting, &shared, (unsigned)size)) stop("no barrier");
  board->size = size;
  for (int i = 0; i < size; i++)
    if (sem_init(&board->of[i].filled, 1, 0) || sem_init(&board->of[i].emptied, 1, 0)) stop("no semaphore");
}

static void meet(struct group_view* g) { pthread_barrier_wait(&g->board->meeting); }

static size_t bytes_of(int dtype, int nelem) {
  const size_t width = dtype == _SION_INT32 ? 4 : dtype == _SION_INT64 ? 8 : 1, bytes = width * (size_t)nelem;
  if (bytes > SLOT) stop("more than 64 KiB for a task in one call");
  return bytes;
}

static int make_group(void** lcg, void* gcg, int grank, int gsize, int lrank, int lsize, int filenumber,
                      int numfiles) {
  struct group_view *global = gcg, *made = malloc(sizeof *made);
  if (!made || global->rank != grank || global->board->size != gsize || filenumber > numfiles) return -1;
  *made = (struct group_view){&boards[1 + filenumber], lrank};
  if (lrank == 0) set_up(made->board, lsize);
  meet(global);
  *lcg = made;
  return 0;
}

static int free_group(void* lcg) {
  free(lcg);
  return 0;
}

static int barrier(void* cg) {
  meet(cg);
  return 0;
}

static int bcastr(void* data, void* cg, int dtype, int nelem, int root) {
  struct group_view* g = cg;
  const size_t bytes = bytes_of(dtype, nelem);
  if (g->rank == root) memcpy(g->board->of[root].data, data, bytes);
  meet(g);
  if (g->rank != root) memcpy(data, g->board->of[root].data, bytes);
  meet(g);
  return 0;
}

static int gatherr(void* in, void* out, void* cg, int dtype, int nelem, int root) {
  struct group_view* g = cg;
  const size_t bytes = bytes_of(dtype, nelem);
  memcpy(g->board->of[g->rank].data, in, bytes);
  meet(g);
  for (int i = 0; g->rank == root && i < g->board->size; i++)
    memcpy((char*)out + (size_t)i * bytes, g->board->of[i].data, bytes);
  meet(g);
  return 0;
}

static int scatterr(void* in, void* out, void* cg, int dtype, int nelem, int root) {
  struct group_view* g = cg;
  const size_t bytes = bytes_of(dtype, nelem);
  for (int i = 0; g->rank == root && i < g->board->size; i++)
    memcpy(g->board->of[i].data, (char*)in + (size_t)i * bytes, bytes);
  meet(g);
  memcpy(out, g->board->of[g->rank].data, bytes);
  meet(g);
  return 0;
}

/* Makes the set of callbacks complete. The library never calls it (docs/api-generic.md). */
static int never_gathervr(void* in, void* out, void* cg, int dtype, int* counts, int nelem, int root) {
  (void)in, (void)out, (void)cg, (void)dtype, (void)counts, (void)nelem, (void)root;
  return -1;
}
static int never_scattervr(void* received, void* sent, void* cg, int dtype, int* counts, int nelem,
                           int root) {
  return never_gathervr(received, sent, cg, dtype, counts, nelem, root);
}

static int gather_and_execute(const void* data, sion_int64* spec, int spec_len, sion_int64 fsblksize,
                              void* lcg, int collector, int first, int last, int sid,
                              int process(const void*, sion_int64*, int)) {
  struct group_view* g = lcg;
  struct mailbox* mine = &g->board->of[g->rank];
  (void)spec_len, (void)fsblksize;
  if (g->rank != collector) {
    memcpy(mine->spec, spec, sizeof mine->spec);
    if (spec[1] > 0) memcpy(mine->data, data, bytes_of(_SION_CHAR, (int)spec[1]));
    sem_post(&mine->filled);
    sem_wait(&mine->emptied);
    return 0;
  }
  int result = 0;
  for (int sender = first; sender <= last; sender++) {
    struct mailbox* theirs = &g->board->of[sender];
    sem_wait(&theirs->filled);
    if (theirs->spec[1] > 0 && process(theirs->data, theirs->spec, sid)) result = -1;
    sem_post(&theirs->emptied);
  }
  return result;
}

static int execute_and_scatter(void* data, sion_int64* spec, int spec_len, sion_int64 fsblksize, void* lcg,
                               int collector, int first, int last, int sid,
                               int process(void*, sion_int64*, int)) {
  struct group_view* g = lcg;
  struct mailbox* mine = &g->board->of[g->rank];
  (void)spec_len, (void)fsblksize;
  if (g->rank != collector) {
    memcpy(mine->spec, spec, sizeof mine->spec);
    sem_post(&mine->filled);
    sem_wait(&mine->emptied);
    if (spec[1] > 0) memcpy(data, mine->data, bytes_of(_SION_CHAR, (int)spec[1]));
    return 0;
  }
  int result = 0;
  for (int sender = first; sender <= last; sender++) {
    struct mailbox* theirs = &g->board->of[sender];
    sem_wait(&theirs->filled);
    if (theirs->spec[1] > 0 && process(theirs->data, theirs->spec, sid)) result = -1;
    sem_post(&theirs->emptied);
  }
  return result;
}

static int capability(void* cg) {
  (void)cg;
  return MAY_COLLECT_AND_SEND;
}

static int make_api(void) {
  char name[] = "processes";
  const int aid = sion_generic_create_api(name);
  const int made = sion_generic_register_create_local_commgroup_cb(aid, make_group) == 1 &&
                   sion_generic_register_free_local_commgroup_cb(aid, free_group) == 1 &&
                   sion_generic_register_barrier_cb(aid, barrier) == 1 &&
                   sion_generic_register_bcastr_cb(aid, bcastr) == 1 &&
                   sion_generic_register_gatherr_cb(aid, gatherr) == 1 &&
                   sion_generic_register_scatterr_cb(aid, scatterr) == 1 &&
                   sion_generic_register_gathervr_cb(aid, never_gathervr) == 1 &&
                   sion_generic_register_scattervr_cb(aid, never_scattervr) == 1 &&
                   sion_generic_register_gather_and_execute_cb(aid, gather_and_execute) == 1 &&
                   sion_generic_register_execute_and_scatter_cb(aid, execute_and_scatter) == 1 &&
                   sion_generic_register_get_capability_cb(aid, capability) == 1;
  if (!made) stop("a callback was not taken");
  return aid;
}

/* Runs `task` in `processes` processes. Each process gets its view of the group of all processes. Returns 0
 * if all processes have returned or exited with 0. */
static int run_processes(int processes, void task(struct group_view* all_tasks, void* argument),
                         void* argument) {
  if (processes < 1 || processes > MOST_TASKS) stop("1 to 16 tasks");
  boards = mmap(NULL, sizeof *boards * GROUPS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (boards == MAP_FAILED) stop("no shared memory");
  set_up(&boards[0], processes);
  for (int rank = 0; rank < processes; rank++) {
    const pid_t child = fork();
    if (child < 0) stop("no process");
    if (child == 0) {
      struct group_view mine = {&boards[0], rank};
      task(&mine, argument);
      fflush(NULL);
      _exit(0);
    }
  }
  int failed = 0, status;
  for (int rank = 0; rank < processes; rank++)
    if (wait(&status) < 0 || status != 0) failed = 1;
  return failed;
}

#endif
