/* merged.c: tests collective writing that merges the data of tasks into the streams of collectors, or
 * renumbers the tasks (collmsa). See docs/format.md, section 10. */
#include "steps.h"

/* A case of merged writing. Call c writes sizes[c][t] bytes on task t. `collector` has the collector of each
 * task, as digits. */
struct merging {
  const char *name, *mode;
  int tasks, block;
  const char* collector;
  long long stored[6];
  int calls, sizes[3][6], individual; /* `individual`: bytes that each task writes individually at the end */
};

static const struct merging mergings[] = {
    {"one task merges", "wb,collective,cmerge", 1, 64, "0", {128}, 2, {{10}, {20}}, 0},
    {"a group of two", "wb,collective,collsize=2,cmerge", 2, 64, "00", {256, 128}, 2, {{10, 20}, {30, 0}}, 0},
    {"two groups",
     "wb,collective,collsize=2,collectivemerge",
     4,
     64,
     "0022",
     {256, 128, 256, 128},
     3,
     {{10, 20, 30, 40}, {0, 5, 100, 1}, {90, 90, 90, 90}},
     0},
    {"pieces that fill chunks",
     "wb,collective,collsize=4,cmerge,posix",
     4,
     64,
     "0000",
     {448, 128, 128, 128},
     3,
     {{100, 100, 100, 100}, {100, 100, 100, 100}, {1, 0, 0, 2}},
     0},
    {"individual writes beside",
     "wb,collective,collsize=2,cmerge",
     4,
     64,
     "0022",
     {256, 128, 256, 128},
     2,
     {{10, 20, 30, 40}, {50, 60, 70, 80}},
     25},
};

static void merge(const struct merging* e) {
  unsigned char data[128];
  int files = 1, rank = 0;
  sion_int64 chunk = 100;
  sion_int32 block = e->block;
  long long at = 0;
  MPI_Comm nobody = MPI_COMM_NULL;
  const int sid =
      sion_paropen_mpi(path("merged"), e->mode, &files, run.comm, &nobody, &chunk, &block, &rank, NULL, NULL);
  if (!expect("sion_paropen_mpi", "a handle", 1, sid >= 0)) return;
  for (int call = 0; call < e->calls; call++) {
    const int bytes = e->sizes[call][run.rank];
    fill(data, run.rank, at, bytes);
    at += bytes;
    expect("sion_coll_fwrite", "items", bytes, (long long)sion_coll_fwrite(data, 1, (size_t)bytes, sid));
  }
  fill(data, run.rank, at, e->individual);
  if (e->individual)
    expect("sion_fwrite", "items", e->individual,
           (long long)sion_fwrite(data, 1, (size_t)e->individual, sid));
  expect("sion_parclose_mpi", "result", 1, sion_parclose_mpi(sid));
}

/* Computes the expected stream of `task` and returns its length. */
static int merged_stream(const struct merging* e, int task, unsigned char* data) {
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

static void check_merged(const struct merging* e) {
  unsigned char data[4096], found[4096];
  int ntasks = 0, nfiles = 0, blocks;
  sion_int32 block = 0;
  sion_int64 skip, behind, *chunks, *ranks, *counts, *sizes;
  const int sid = sion_open((char*)path("merged"), "rb", &ntasks, &nfiles, NULL, &block, NULL, NULL);
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

/* Cases of renumbered tasks (collmsa). `rank_of` has the stored global ranks of the tasks of file 0, then of
 * file 1, and so on. */
static const struct renumbering {
  const char *name, *mode, *collsize;
  int tasks, files;
  const char* rank_of; /* NULL: the open fails */
  const char* file_of;
} renumberings[] = {
    {"renumbered, one file", "wb,collmsa", "2", 4, 1, "0213", "0000"},
    {"renumbered, two files", "wb,collmsa", "2", 4, 2, "0213", "0101"},
    {"renumbered, without a size", "wb,collmsa", NULL, 4, 1, NULL, NULL},
    {"renumbered, no number of files", "wb,collmsa", "2", 4, -1, NULL, NULL},
    {"renumbered, six tasks", "wb,collmsa", "3", 6, 1, "023145", "000000"},
};

static void renumber(const struct renumbering* e) {
  static const struct step rows[] = {{ALL, CWRITE, 1, 70, 0, 70, 0}, {0, END, 0, 0, 0, 0, 0}};
  static const struct step back[] = {
      {ALL, CREAD, 1, 70, 0, 70, 0}, {ALL, FEOF, 0, 0, 0, 1, 0}, {0, END, 0, 0, 0, 0, 0}};
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
    s.sid = sion_paropen_mpi(path("msa"), write ? e->mode : "rb,collmsa", &files, run.comm, &nobody, &chunk,
                             &block, &rank, NULL, NULL);
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
    if (e->files > 1 && file == 0)
      continue; /* the name of file 0 opens the whole set, with its tasks in global order */
    const int opened = sion_open((char*)file_name(path("msa"), file), "rb", &ntasks, &nfiles, NULL,
                                 &(sion_int32){0}, &global, NULL);
    if (!expect("sion_open", "a handle", 1, opened >= 0)) return;
    if (e->files > 1) at = e->tasks - ntasks;
    for (int t = 0; t < ntasks; t++) expect("sion_open", "global rank", e->rank_of[at + t] - '0', global[t]);
    sion_close(opened);
  }
  free(global);
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv, MPI_THREAD_SINGLE);
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
