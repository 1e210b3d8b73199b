/* collective.c: collective writing and reading: which words and variables ask for it, the chunk sizes that follow from the
 * format's section 10, what calls give, and where merged data are.
 */
#include "scenario.h"

#define CUR SION_CURRENT_RANK

/* Each task writes as much as all others: in chunks of 100 bytes and more, blocks of 90 and 60 bytes. */
static const struct step alike[] = {
    {ALL, CWRITE, 1, 40, 0, 40, 0},  {ALL, WRITTEN, 0, 0, 0, 40, 0}, {ALL, CWRITE, 10, 5, 0, 5, 0},
    {ALL, AT, 0, 90, SKIP, 1, 0},    {ALL, OFFSET, 0, 90, 0, 0, 0},  {ALL, ENSURE, 100, 0, 0, 1, 0},
    {ALL, AT, 1, 0, SKIP, 1, 0},     {ALL, CWRITE, 1, 60, 0, 60, 0}, {ALL, CWRITE, 1, 0, 0, 0, 0},
    {ALL, FEOF, 0, 0, 0, 1, 0},      {ALL, WRITTEN, 0, 0, 0, 150, 0}, {0, END, 0, 0, 0, 0, 0}};
static const struct step alike_back[] = {
    {ALL, AVAIL, 0, 0, 0, 90, 0},    {ALL, FEOF, 0, 0, 0, 0, 0},     {ALL, CREAD, 9, 5, 0, 5, 0},
    {ALL, GOT, 0, 0, 0, 45, 0},      {ALL, CREAD, 1, 45, 45, 45, 0}, {ALL, FEOF, 0, 0, 0, 0, 0},
    {ALL, AT, 1, 0, 2, 1, 0},        {ALL, OFFSET, 1, 0, 0, 0, 0},   {ALL, CREAD, 1, 0, 0, 0, 0},
    {ALL, CREAD, 60, 1, 90, 1, 0},   {ALL, FEOF, 0, 0, 0, 1, 0},     {ALL, GOT, 0, 0, 0, 150, 0},
    {0, END, 0, 0, 0, 0, 0}};
/* Individual calls between collective ones, alike on all tasks. */
static const struct step mixed[] = {
    {ALL, CWRITE, 1, 30, 0, 30, 0}, {ALL, WRITE, 1, 20, 0, 20, 0}, {ALL, CWRITE, 1, 40, 0, 40, 0},
    {ALL, WRITE, 1, 60, 0, 60, 0},  {ALL, WRITTEN, 0, 0, 0, 150, 0}, {0, END, 0, 0, 0, 0, 0}};
static const struct step mixed_back[] = {
    {ALL, CREAD, 1, 30, 0, 30, 0},  {ALL, READ, 1, 20, 30, 20, 0},   {ALL, CREAD, 1, 40, 50, 40, 0},
    {ALL, READ, 1, 60, 90, 60, 0},  {ALL, FEOF, 0, 0, 0, 1, 0},      {0, END, 0, 0, 0, 0, 0}};
/* Seeks, and a stream between collective calls. */
static const struct step stream_between[] = {
    {ALL, CWRITE, 1, 30, 0, 30, 0},   {ALL, ENSURE, 20, 0, 0, 1, 0}, {ALL, FP_WRITE, 1, 20, 0, 20, 0},
    {ALL, WRITTEN, 0, 0, 0, 50, 0},   {ALL, FLUSH, 0, 0, 0, 1, 0},   {ALL, WRITE, 1, 40, 0, 40, 0},
    {0, END, 0, 0, 0, 0, 0}};
static const struct step seeks_between[] = {
    {ALL, SEEK, CUR, 0, 45, 1, 0},    {ALL, CREAD, 1, 20, 45, 20, 0}, {ALL, SEEK, OWN, SION_END_POS, -10, 1, 0},
    {ALL, CREAD, 5, 2, 80, 2, 0},     {ALL, FEOF, 0, 0, 0, 1, 0},     {ALL, SEEK, CUR, SION_ABSOLUTE_POS, 0, 1, 0},
    {ALL, FP_READ, 1, 10, 0, 10, 0},  {ALL, GOT, 0, 0, 0, 10, 0},     {0, END, 0, 0, 0, 0, 0}};
/* Each task another amount, task 0 nothing in the second call. */
static const struct step uneven[] = {
    {0, CWRITE, 1, 5, 0, 5, 0},   {1, CWRITE, 1, 20, 0, 20, 0}, {2, CWRITE, 3, 10, 0, 10, 0}, {3, CWRITE, 1, 40, 0, 40, 0},
    {4, CWRITE, 1, 0, 0, 0, 0},   {5, CWRITE, 1, 1, 0, 1, 0},   {0, CWRITE, 1, 0, 0, 0, 0},   {1, CWRITE, 1, 20, 0, 20, 0},
    {2, CWRITE, 1, 2, 0, 2, 0},   {3, CWRITE, 4, 7, 0, 7, 0},   {4, CWRITE, 50, 1, 0, 1, 0},  {5, CWRITE, 7, 8, 0, 8, 0},
    {0, END, 0, 0, 0, 0, 0}};
static const struct step uneven_back[] = {
    {0, CREAD, 1, 5, 0, 5, 0},    {1, CREAD, 1, 20, 0, 20, 0},  {2, CREAD, 3, 10, 0, 10, 0},  {3, CREAD, 1, 40, 0, 40, 0},
    {4, CREAD, 1, 0, 0, 0, 0},    {5, CREAD, 1, 1, 0, 1, 0},    {0, CREAD, 1, 0, 0, 0, 0},    {1, CREAD, 1, 20, 20, 20, 0},
    {2, CREAD, 1, 2, 30, 2, 0},   {3, CREAD, 4, 7, 40, 7, 0},   {4, CREAD, 50, 1, 0, 1, 0},   {5, CREAD, 7, 8, 1, 8, 0},
    {ALL, FEOF, 0, 0, 0, 1, 0},   {0, END, 0, 0, 0, 0, 0}};

#define EACH {100, 100, 100, 100, 100, 100}
#define ALIKE alike, alike_back
#define BYTES {150, 150, 150, 150, 150, 150}
#define RISING {10, 20, 30, 40, 50, 60}
#define RISING_BYTES {5, 40, 32, 68, 50, 57}
#define ALIGNED {SKIP}
static const struct scenario scenarios[] = {
    {"one task", 1, 1, 64, EACH, "wb,collective", "rb", NULL, NULL, NULL, ALIKE, {128}, BYTES},
    {"not collective", 4, 1, 64, EACH, "wb", "rb", NULL, NULL, NULL, ALIKE, ALIGNED, BYTES},
    {"off by the environment", 4, 1, 64, EACH, "wb,collective,collsize=4", "rb", "0", "0", NULL, ALIKE, ALIGNED, BYTES},
    {"collsize without collective", 2, 1, 64, EACH, "wb,collsize=2", "rb,collsize=2", NULL, NULL, NULL, ALIKE, ALIGNED, BYTES},
    {"automatic", 4, 1, 64, EACH, "wb,collective", "rb", NULL, "-1", NULL, ALIKE, {128, 128, 128, 128}, BYTES},
    {"automatic by the environment", 4, 1, 64, EACH, "wb", "rb,collective", "-1", NULL, NULL, ALIKE, {128, 128, 128, 128}, BYTES},
    {"automatic, small chunks", 6, 1, 64, RISING, "wb,collective", "rb", NULL, "-1", NULL, uneven, uneven_back,
     {10, 20, 34, 64, 64, 64}, RISING_BYTES},
    {"groups of two", 2, 1, 64, EACH, "wb,collective,collsize=2", "rb", NULL, NULL, NULL, ALIKE, {100, 156}, BYTES},
    {"groups of two, posix", 4, 1, 64, EACH, "wb,collective,collsize=2,posix", "rb,posix", NULL, "2", NULL, ALIKE,
     {100, 156, 100, 156}, BYTES},
    {"groups of two by the environment", 4, 1, 64, EACH, "wb", "rb", "2", "4", NULL, ALIKE, {100, 156, 100, 156}, BYTES},
    {"the environment overrides the words", 4, 1, 64, EACH, "wb,collective,collsize=4", "rb", "2", "-1", NULL, ALIKE,
     {100, 156, 100, 156}, BYTES},
    {"the first collsize wins", 4, 1, 64, EACH, "wb,collective,collsize=2,collsize=4", "rb", NULL, NULL, NULL, ALIKE,
     {100, 156, 100, 156}, BYTES},
    {"a number of collectors", 4, 1, 64, EACH, "wb", "rb", NULL, NULL, "2", ALIKE, {100, 156, 100, 156}, BYTES},
    {"one collector", 4, 1, 64, EACH, "wb,collective", "rb", NULL, NULL, "1", ALIKE, {100, 100, 100, 148}, BYTES},
    {"collsize of more tasks than there are", 4, 1, 64, EACH, "wb", "rb", "99", "99", NULL, ALIKE, {100, 100, 100, 148}, BYTES},
    {"collsize that does not divide", 4, 1, 64, EACH, "wb,collective,collsize=3", "rb", NULL, "3", NULL, ALIKE,
     {100, 156, 100, 156}, BYTES},
    {"two files", 4, 2, 64, EACH, "wb,collective,collsize=2", "rb", NULL, "2", NULL, ALIKE, {100, 156, 100, 156}, BYTES},
    {"six tasks, three groups", 6, 1, 32, EACH, "wb,collective,collsize=2", "rb", NULL, "6", NULL, ALIKE,
     {100, 124, 100, 124, 100, 124}, BYTES},
    {"groups go by bytes", 6, 1, 64, RISING, "wb,collective,collsize=3", "rb", NULL, "3", NULL, uneven, uneven_back,
     {10, 20, 30, 68, 50, 78}, RISING_BYTES},
    {"groups go by bytes, read individually", 6, 1, 64, RISING, "wb,collective,collsize=3", "rb", NULL, NULL, NULL, uneven,
     uneven_back, {10, 20, 30, 68, 50, 78}, RISING_BYTES},
    {"individual calls between", 4, 1, 64, EACH, "wb,collective,collsize=2", "rb", NULL, "2", NULL, mixed, mixed_back,
     {100, 156, 100, 156}, BYTES},
    {"a stream between", 4, 1, 64, EACH, "wb,collective,collsize=4", "rb", NULL, NULL, NULL, stream_between, seeks_between,
     {100, 100, 100, 148}, {90, 90, 90, 90}},
};

/* Merged writing: calls of `sizes` bytes on each task; `collector` of each task as digits. */
struct merging {
  const char *name, *mode;
  int tasks, block;
  const char *collector;
  long long stored[6];
  int calls, sizes[3][6], individual; /* and bytes that each task writes itself at the end */
};

static const struct merging mergings[] = {
    {"one task merges", "wb,collective,cmerge", 1, 64, "0", {128}, 2, {{10}, {20}}, 0},
    {"a group of two", "wb,collective,collsize=2,cmerge", 2, 64, "00", {256, 128}, 2, {{10, 20}, {30, 0}}, 0},
    {"two groups", "wb,collective,collsize=2,collectivemerge", 4, 64, "0022", {256, 128, 256, 128}, 3,
     {{10, 20, 30, 40}, {0, 5, 100, 1}, {90, 90, 90, 90}}, 0},
    {"pieces that fill chunks", "wb,collective,collsize=4,cmerge,posix", 4, 64, "0000", {448, 128, 128, 128}, 3,
     {{100, 100, 100, 100}, {100, 100, 100, 100}, {1, 0, 0, 2}}, 0},
    {"individual writes beside", "wb,collective,collsize=2,cmerge", 4, 64, "0022", {256, 128, 256, 128}, 2,
     {{10, 20, 30, 40}, {50, 60, 70, 80}}, 25},
};

static void merge(const struct merging *e) {
  unsigned char data[128];
  int files = 1, rank = 0;
  sion_int64 chunk = 100;
  sion_int32 block = e->block;
  long long at = 0;
  MPI_Comm nobody = MPI_COMM_NULL;
  const int sid = sion_paropen_mpi(path("merged"), e->mode, &files, run.comm, &nobody, &chunk, &block, &rank, NULL, NULL);
  if (!expect("sion_paropen_mpi", "a handle", 1, sid >= 0)) return;
  for (int call = 0; call < e->calls; call++) {
    const int bytes = e->sizes[call][run.rank];
    fill(data, run.rank, at, bytes);
    at += bytes;
    expect("sion_coll_fwrite", "items", bytes, (long long)sion_coll_fwrite(data, 1, (size_t)bytes, sid));
  }
  fill(data, run.rank, at, e->individual);
  if (e->individual) expect("sion_fwrite", "items", e->individual, (long long)sion_fwrite(data, 1, (size_t)e->individual, sid));
  expect("sion_parclose_mpi", "result", 1, sion_parclose_mpi(sid));
}

/* What the stream of `task` has to be: returns its length. */
static int merged_stream(const struct merging *e, int task, unsigned char *data) {
  long long at[6] = {0};
  int length = 0;
  for (int call = 0; call < e->calls; call++)
    for (int t = 0; t < e->tasks; t++) {
      const int bytes = e->sizes[call][t];
      if (e->collector[t] - '0' == task) fill(data + length, t, at[t], bytes), length += bytes;
      at[t] += bytes;
    }
  fill(data + length, task, at[task], e->individual);
  return length + e->individual;
}

static void check_merged(const struct merging *e) {
  unsigned char data[4096], found[4096];
  int ntasks = 0, nfiles = 0, blocks;
  sion_int32 block = 0;
  sion_int64 skip, behind, *chunks, *ranks, *counts, *sizes;
  const int sid = sion_open((char *)path("merged"), "rb", &ntasks, &nfiles, NULL, &block, NULL, NULL);
  if (!expect("sion_open", "a handle", 1, sid >= 0)) return;
  sion_get_locations(sid, &ntasks, &blocks, &skip, &behind, &chunks, &ranks, &counts, &sizes);
  for (int t = 0; t < e->tasks; t++) {
    const int wanted = merged_stream(e, t, data);
    int length = 0;
    expect("sion_get_locations", "chunk size", e->stored[t], chunks[t]);
    expect("sion_seek", "result", 1, sion_seek(sid, t, 0, 0));
    while (!sion_feof(sid)) {
      const sion_int64 here = sion_bytes_avail_in_block(sid);
      length += (int)sion_fread(found + length, 1, (size_t)here, sid);
    }
    expect("merged stream", "length", wanted, length);
    expect("merged stream", "is right", 1, !memcmp(data, found, (size_t)wanted));
  }
  sion_close(sid);
}

/* collmsa: tasks renumbered; `rank_of` are the stored global ranks of the tasks of file 0, then of file 1, ... */
static const struct renumbering {
  const char *name, *mode, *collsize;
  int tasks, files;
  const char *rank_of; /* NULL: the open fails */
  const char *file_of;
} renumberings[] = {
    {"renumbered, one file", "wb,collmsa", "2", 4, 1, "0213", "0000"},
    {"renumbered, two files", "wb,collmsa", "2", 4, 2, "0213", "0101"},
    {"renumbered, without a size", "wb,collmsa", NULL, 4, 1, NULL, NULL},
    {"renumbered, no number of files", "wb,collmsa", "2", 4, -1, NULL, NULL},
    {"renumbered, six tasks", "wb,collmsa", "3", 6, 1, "023145", "000000"},
};

static void renumber(const struct renumbering *e) {
  static const struct step rows[] = {{ALL, CWRITE, 1, 70, 0, 70, 0}, {0, END, 0, 0, 0, 0, 0}};
  static const struct step back[] = {{ALL, CREAD, 1, 70, 0, 70, 0}, {ALL, FEOF, 0, 0, 0, 1, 0}, {0, END, 0, 0, 0, 0, 0}};
  struct stream s;
  int nfiles = 0, ntasks = 0, *global = NULL;
  for (int write = 1; write >= 0; write--) {
    int files = e->files, rank = 0;
    sion_int64 chunk = 100;
    sion_int32 block = 64;
    MPI_Comm nobody = MPI_COMM_NULL;
    environment("SION_COLLSIZE", e->collsize);
    memset(&s, 0, sizeof s);
    s.task = run.rank;
    s.sid = sion_paropen_mpi(path("msa"), write ? e->mode : "rb,collmsa", &files, run.comm, &nobody, &chunk, &block, &rank,
                             NULL, NULL);
    if (!e->rank_of) {
      expect("sion_paropen_mpi", "result", -1, s.sid);
      if (s.sid >= 0) sion_parclose_mpi(s.sid);
    } else if (expect("sion_paropen_mpi", "a handle", 1, s.sid >= 0)) {
      expect("sion_get_filenumber", "file", e->file_of[run.rank] - '0', sion_get_filenumber(s.sid));
      run_steps(&s, write ? rows : back, run.rank, write ? "writing" : "reading");
      expect("sion_parclose_mpi", "result", 1, sion_parclose_mpi(s.sid));
    }
    environment("SION_COLLSIZE", NULL);
    if (!e->rank_of) return;
  }
  meet();
  if (run.rank) return;
  for (int file = 0, at = 0; file < e->files; file++) {
    if (e->files > 1 && file == 0) continue; /* file 0 of a set stands for the set: its tasks in global order */
    const int opened = sion_open((char *)file_name(path("msa"), file), "rb", &ntasks, &nfiles, NULL,
                                 &(sion_int32){0}, &global, NULL);
    if (!expect("sion_open", "a handle", 1, opened >= 0)) return;
    if (e->files > 1) at = e->tasks - ntasks;
    for (int t = 0; t < ntasks; t++) expect("sion_open", "global rank", e->rank_of[at + t] - '0', global[t]);
    sion_close(opened);
  }
  free(global);
}

int main(int argc, char **argv) {
  begin_program(&argc, &argv, MPI_THREAD_SINGLE);
  for (int i = 0; i < COUNT(scenarios); i++) run_scenario(&scenarios[i]);
  for (int i = 0; i < COUNT(mergings); i++) {
    if (begin_case(mergings[i].name, mergings[i].tasks)) {
      merge(&mergings[i]);
      if (run.rank == 0) check_merged(&mergings[i]);
    }
    end_case(mergings[i].tasks);
  }
  for (int i = 0; i < COUNT(renumberings); i++) {
    if (begin_case(renumberings[i].name, renumberings[i].tasks)) renumber(&renumberings[i]);
    end_case(renumberings[i].tasks);
  }
  return end_program();
}
