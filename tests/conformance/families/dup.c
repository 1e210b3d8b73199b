/* dup.c: tests sion_dup and sion_dedup of handles of parallel and mapped opens, with and without keys. The
 * tests cover every mode with every kind of rank, separate positions, and calls that must fail. */
#include "steps.h"

#define CUR SION_CURRENT_RANK
#define CBLK SION_CURRENT_BLK
#define CPOS SION_CURRENT_POS

enum open_kind { PARALLEL, MAPPED, SERIAL, RANK_ONLY, WRITING }; /* the open of the original */
enum { ME = -300, NEXT_TASK = -301 }; /* ranks: the task's own, the following one */

/* A mapped handle has the tasks 2*rank and 2*rank+1. A parallel handle has its own task. */
static int tasks_of(enum open_kind kind) { return kind == PARALLEL ? run.size : 2 * run.size; }
static int first_task(enum open_kind kind) { return kind == PARALLEL ? run.rank : 2 * run.rank; }

static const struct step contents[] = {
    {ALL, WRITE, 1, 100, 0, 100, 0}, {ALL, WRITE, 1, 60, 0, 60, 0}, {0, END, 0, 0, 0, 0, 0}};
static const struct step records[] = {{ALL, WKEY, 7, 1, 10, 10, 0},
                                      {ALL, WKEY, 8, 1, 5, 5, 0},
                                      {ALL, WKEY, 7, 1, 20, 20, 0},
                                      {0, END, 0, 0, 0, 0, 0}};

/* The calls of the original before its duplication, those of the duplicate, and the later calls of the
 * original. */
static const struct step before[] = {{ALL, READ, 1, 30, 0, 30, 0}, {0, END, 0, 0, 0, 0, 0}};
static const struct step duplicate[] = {
    {ALL, GOT, 0, 0, 0, 30, 0},   {ALL, AT, 0, 30, 2, 1, 0},    {ALL, SEEK, CUR, 0, 0, 1, 0},
    {ALL, READ, 1, 50, 0, 50, 0}, {ALL, READ, 10, 5, 50, 5, 0}, {ALL, FEOF, 0, 0, 0, 0, 0},
    {ALL, AT, 1, 0, 2, 1, 0},     {ALL, AVAIL, 0, 0, 0, 60, 0}, {ALL, READ, 1, 60, 100, 60, 0},
    {ALL, FEOF, 0, 0, 0, 1, 0},   {ALL, GOT, 0, 0, 0, 160, 0},  {ALL, FILES, 0, 0, 0, 1, 0},
    {ALL, WRITE, 1, 1, 0, 0, 0},  {0, END, 0, 0, 0, 0, 0}};
static const struct step original[] = {{ALL, GOT, 0, 0, 0, 30, 0},
                                       {ALL, READ, 1, 70, 30, 70, 0},
                                       {ALL, READ, 1, 5, 100, 5, 0},
                                       {0, END, 0, 0, 0, 0, 0}};

static const struct step key_before[] = {
    {ALL, SCAN, 0, 0, 0, 1, 0}, {ALL, RKEY, 7, 1, 4, 4, 0}, {0, END, 0, 0, 0, 0, 0}};
/* A duplicate must have a copy of the original's key tables. */
static const struct step all_keys[] = {
    {ALL, STAT, 7, 2, 30, 1, 0},   {ALL, STAT, 8, 1, 5, 1, 0}, {ALL, SEEK_KEY, 7, 0, 0, 1, 0},
    {ALL, RKEY, 7, 1, 9, 9, 0},    {ALL, RKEY, 8, 1, 9, 5, 0}, {ALL, RKEY, 7, 1, 9, 1, 9},
    {ALL, RKEY, 7, 1, 99, 20, 10}, {ALL, RKEY, 7, 1, 9, 0, 0}, {ALL, MODE, 0, 0, 0, SION_KEYVAL_INLINE, 0},
    {0, END, 0, 0, 0, 0, 0}};
static const struct step one_key[] = {{ALL, SEEK_KEY, 8, 0, 0, 1, 0}, {ALL, RKEY, 8, 1, 9, 5, 0},
                                      {ALL, RKEY, 7, 1, 9, 0, 0},     {ALL, SEEK_KEY, 7, 0, 0, 0, 0},
                                      {ALL, SEEK_KEY, 8, 0, 2, 1, 0}, {ALL, RKEY, 8, 1, 9, 3, 2},
                                      {0, END, 0, 0, 0, 0, 0}};
static const struct step no_key[] = {
    {ALL, RKEY, 7, 1, 9, 0, 0}, {ALL, RKEY, 8, 1, 9, 0, 0}, {0, END, 0, 0, 0, 0, 0}};
static const struct step key_original[] = {
    {ALL, RKEY, 7, 1, 9, 6, 4}, {ALL, RKEY, 8, 1, 9, 5, 0}, {0, END, 0, 0, 0, 0, 0}};

/* The current task of a mapped handle is its second local task. `lands` is the local task that its duplicate
 * selects. */
static const struct dup_case {
  const char* name;
  int processes;
  enum open_kind kind;
  int mode, rank, key;
  const char* open;
  const struct step *before, *duplicate, *original;
  int lands;
} cases[] = {
    {"parallel, all", 1, PARALLEL, SION_DUP_ALL, ME, 0, "rb", before, duplicate, original, 0},
    {"parallel, all, posix", 2, PARALLEL, SION_DUP_ALL, ME, 0, "rb,posix", before, duplicate, original, 0},
    {"parallel, all, rank -1", 2, PARALLEL, SION_DUP_ALL, -1, 0, "rb", before, duplicate, original, 0},
    {"parallel, its rank", 4, PARALLEL, SION_DUP_RANK, ME, 0, "rb", before, duplicate, original, 0},
    {"parallel, rank -1", 2, PARALLEL, SION_DUP_RANK, -1, 0, "rb", before, duplicate, original, 0},
    {"parallel, current rank", 2, PARALLEL, SION_DUP_RANK, CUR, 0, "rb", before, duplicate, original, 0},
    {"parallel, rank of another", 2, PARALLEL, SION_DUP_RANK, NEXT_TASK, 0, "rb", before, duplicate, original,
     0},
    {"parallel, no such rank", 2, PARALLEL, SION_DUP_RANK, 4711, 0, "rb", before, duplicate, original, 0},
    {"parallel, another mode is all", 2, PARALLEL, 0, -1, 0, "rb", before, duplicate, original, 0},
    {"parallel, mode -1", 6, PARALLEL, -1, ME, 0, "rb", before, duplicate, original, 0},
    {"mapped, all", 1, MAPPED, SION_DUP_ALL, ME, 0, "rb", before, duplicate, original, 1},
    {"mapped, all, rank -1", 2, MAPPED, SION_DUP_ALL, -1, 0, "rb,posix", before, duplicate, original, 1},
    {"mapped, the current rank", 2, MAPPED, SION_DUP_RANK, NEXT_TASK, 0, "rb", before, duplicate, original,
     1},
    {"mapped, SION_CURRENT_RANK", 2, MAPPED, SION_DUP_RANK, CUR, 0, "rb", before, duplicate, original, 1},
    {"mapped, rank -1", 4, MAPPED, SION_DUP_RANK, -1, 0, "rb", before, duplicate, original, 1},
    {"mapped, no such rank", 2, MAPPED, SION_DUP_RANK, 4711, 0, "rb,posix", before, duplicate, original, 1},
    {"mapped, another of its ranks", 2, MAPPED, SION_DUP_RANK, ME, 0, "rb", before, NULL, original, 0},
    {"parallel, keys, all", 2, PARALLEL, SION_DUP_ALL, ME, 0, "rb", key_before, all_keys, key_original, 0},
    {"parallel, keys, rank", 1, PARALLEL, SION_DUP_RANK, -1, 0, "rb", key_before, all_keys, key_original, 0},
    {"parallel, one key", 2, PARALLEL, SION_DUP_RANK_KEY, ME, 8, "rb", key_before, one_key, key_original, 0},
    {"parallel, one key, rank -1", 2, PARALLEL, SION_DUP_RANK_KEY, -1, 8, "rb,posix", key_before, one_key,
     key_original, 0},
    {"parallel, no such key", 2, PARALLEL, SION_DUP_RANK_KEY, ME, 99, "rb", key_before, no_key, key_original,
     0},
    {"mapped, keys, all", 2, MAPPED, SION_DUP_ALL, CUR, 0, "rb", key_before, all_keys, key_original, 1},
    {"mapped, one key", 2, MAPPED, SION_DUP_RANK_KEY, NEXT_TASK, 8, "rb", key_before, one_key, key_original,
     1},
    {"mapped, one key, rank -1", 1, MAPPED, SION_DUP_RANK_KEY, -1, 8, "rb", key_before, one_key, key_original,
     1},
    {"mapped, no such key", 2, MAPPED, SION_DUP_RANK_KEY, NEXT_TASK, 99, "rb", key_before, no_key,
     key_original, 1},
};

static int open_one(enum open_kind kind, const char* mode) {
  int files = 1, rank = 0, tasks = 2, ranks[2], lranks[2], numbers[] = {0, 0};
  int *r = ranks, *l = lranks, *n = numbers;
  sion_int64 chunks[] = {100, 100}, *c = chunks;
  sion_int32 block = 10;
  MPI_Comm nobody = MPI_COMM_NULL;
  for (int i = 0; i < 2; i++) ranks[i] = lranks[i] = 2 * run.rank + i;
  return kind == PARALLEL ? sion_paropen_mpi(path("dup"), mode, &files, run.comm, &nobody, chunks, &block,
                                             &rank, NULL, NULL)
                          : sion_paropen_mapped_mpi((char*)path("dup"), mode, &files, run.comm, &tasks, &r,
                                                    &c, &n, &l, &block, NULL);
}

static void close_one(enum open_kind kind, int sid) {
  expect("close", "result", 1, kind == PARALLEL ? sion_parclose_mpi(sid) : sion_parclose_mapped_mpi(sid));
}

/* Makes `task` the current task and runs rows on it. A parallel handle has one task and needs no seek. */
static void rows_on(struct stream* s, enum open_kind kind, int task, const struct step* rows,
                    const char* table) {
  if (kind == MAPPED) run_step(s, &(struct step){ALL, SEEK, task, CBLK, CPOS, 1, 0}, "select");
  s->task = task;
  run_steps(s, rows, task, table);
}

static void write_contents(enum open_kind kind, int keys) {
  struct stream s;
  memset(&s, 0, sizeof s);
  s.sid = open_one(kind, keys ? "wb,keyval" : "wb");
  if (!expect("open to write", "a handle", 1, s.sid >= 0)) return;
  for (int t = first_task(kind); t < first_task(kind) + tasks_of(kind) / run.size; t++)
    rows_on(&s, kind, t, keys ? records : contents, "contents");
  expect("sion_dup", "of a handle that writes", -1, sion_dup(s.sid, SION_DUP_ALL, first_task(kind), 0));
  close_one(kind, s.sid);
}

static void run_case(const struct dup_case* e) {
  static struct stream from, to;
  const int here = first_task(e->kind) + (e->kind == MAPPED); /* current task of the original */
  const int rank = e->rank == ME          ? first_task(e->kind)
                   : e->rank == NEXT_TASK ? first_task(e->kind) + 1
                                          : e->rank;
  write_contents(e->kind, e->before == key_before);
  memset(&from, 0, sizeof from);
  memset(&to, 0, sizeof to);
  from.sid = open_one(e->kind, e->open);
  if (!expect("open to read", "a handle", 1, from.sid >= 0)) return;
  expect("sion_dedup", "of what is no duplicate", 0, sion_dedup(from.sid));
  rows_on(&from, e->kind, here, e->before, "before");
  for (int turn = 0; turn < 2; turn++) { /* a second duplicate starts at the original's position too */
    to.sid = sion_dup(from.sid, e->mode, rank, (uint64_t)e->key);
    if (!expect("sion_dup", "a handle", 1, to.sid >= 0 && to.sid != from.sid)) continue;
    to.task = first_task(e->kind) + e->lands;
    if (e->duplicate)
      run_steps(&to, e->duplicate, to.task, "duplicate");
    else
      run_steps(&to, (const struct step[]){{ALL, READ, 1, 9, 0, 9, 0}, {0, END, 0, 0, 0, 0, 0}}, to.task,
                "other task");
    expect("sion_dedup", "result", 1, sion_dedup(to.sid));
    expect("sion_dedup", "once more", -1, sion_dedup(to.sid));
    expect("sion_feof", "of a duplicate that was released", -1, sion_feof(to.sid));
  }
  rows_on(&from, e->kind, here, e->original, "original");
  close_one(e->kind, from.sid);
}

/* A duplicate with SION_DUP_ALL must have all tasks of the original, each at its position in the original. */
static void mapped_positions(void) {
  struct stream from, to;
  write_contents(MAPPED, 0);
  memset(&from, 0, sizeof from);
  from.sid = open_one(MAPPED, "rb");
  if (!expect("open to read", "a handle", 1, from.sid >= 0)) return;
  const int a = 2 * run.rank, b = a + 1;
  rows_on(&from, MAPPED, a, (const struct step[]){{ALL, READ, 1, 10, 0, 10, 0}, {0, END, 0, 0, 0, 0, 0}},
          "before");
  rows_on(&from, MAPPED, b, (const struct step[]){{ALL, READ, 1, 25, 0, 25, 0}, {0, END, 0, 0, 0, 0, 0}},
          "before");
  to = from;
  to.sid = sion_dup(from.sid, SION_DUP_ALL, b, 0);
  rows_on(&to, MAPPED, a, (const struct step[]){{ALL, READ, 1, 5, 10, 5, 0}, {0, END, 0, 0, 0, 0, 0}},
          "duplicate");
  rows_on(&to, MAPPED, b, (const struct step[]){{ALL, READ, 1, 5, 25, 5, 0}, {0, END, 0, 0, 0, 0, 0}},
          "duplicate");
  rows_on(&from, MAPPED, a, (const struct step[]){{ALL, READ, 1, 5, 10, 5, 0}, {0, END, 0, 0, 0, 0, 0}},
          "original");
  rows_on(&from, MAPPED, b, (const struct step[]){{ALL, READ, 1, 5, 25, 5, 0}, {0, END, 0, 0, 0, 0, 0}},
          "original");
  expect("sion_dedup", "result", 1, sion_dedup(to.sid));
  close_one(MAPPED, from.sid);
}

/* Calls of sion_dup that must fail. */
static const struct {
  const char* name;
  enum open_kind kind;
} refusals[] = {{"serial", SERIAL}, {"one rank", RANK_ONLY}};

static void refuse(enum open_kind kind) {
  int tasks = 0, files = 0, rank = 0;
  sion_int64 chunk = 0;
  sion_int32 block = 0;
  write_contents(PARALLEL, 0);
  const int sid = kind == SERIAL
                      ? sion_open((char*)path("dup"), "rb", &tasks, &files, NULL, &block, NULL, NULL)
                      : sion_open_rank((char*)path("dup"), "rb", &chunk, &block, &rank, NULL);
  expect("open", "a handle", 1, sid >= 0);
  expect("sion_dup", "result", -1, sion_dup(sid, SION_DUP_ALL, 0, 0));
  expect("sion_dedup", "result", 0, sion_dedup(sid));
  expect("sion_close", "result", 1, sion_close(sid));
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv, MPI_THREAD_SINGLE);
  for (int i = 0; i < COUNT(cases); i++) {
    if (begin_case(cases[i].name, cases[i].processes)) run_case(&cases[i]);
    end_case(cases[i].processes);
  }
  if (begin_case("positions of all tasks", 2)) mapped_positions();
  end_case(2);
  for (int i = 0; i < COUNT(refusals); i++) {
    if (begin_case(refusals[i].name, 1)) refuse(refusals[i].kind);
    end_case(1);
  }
  return end_program();
}
