/* scenario.h: a multifile that one table of calls writes and another table reads back, both on handles of
 * sion_paropen_mpi. */
#ifndef FAMILIES_SCENARIO_H
#define FAMILIES_SCENARIO_H

#include "steps.h"

struct scenario {
  const char* name;
  int tasks, files, block;
  long long chunk[6]; /* requested chunk sizes */
  const char *write_mode, *read_mode;
  const char *write_collsize, *read_collsize,
      *collnum; /* SION_COLLSIZE for writing and for reading, SION_COLLNUM; or NULL */
  const struct step *writing, *reading;
  long long stored[6]; /* chunk sizes in the file; stored[0] == SKIP: the requested ones, aligned */
  long long bytes[6];  /* bytes in the stream of each task; bytes[0] == SKIP: not checked */
};

static inline long long stored_chunk(const struct scenario* e, int task) {
  return e->stored[0] == SKIP ? align_up(e->chunk[task], e->block) : e->stored[task];
}

/* Returns the stream of this task with the offsets of its chunks in its file. The tasks are distributed over
 * the files as in docs/format.md, section 6. */
static inline struct stream scenario_stream(const struct scenario* e) {
  struct stream s, in_file;
  long long chunks[MOST];
  const int each = e->tasks / e->files;
  const int file = run.rank / each < e->files ? run.rank / each : e->files - 1;
  int n = 0;
  memset(&s, 0, sizeof s);
  for (int t = file * each; t < (file == e->files - 1 ? e->tasks : (file + 1) * each); t++)
    chunks[n++] = stored_chunk(e, t);
  lay_out(&in_file, chunks, n, e->block);
  s.task = run.rank;
  s.start[run.rank] = in_file.start[run.rank - file * each];
  s.skip = in_file.skip;
  return s;
}

/* Opens the file, makes the calls of a table, and closes the file. `write` selects the table and the mode.
 * With `with_fp`, the open returns a FILE*. */
static inline void scenario_way(const struct scenario* e, const char* file, int write, int with_fp) {
  struct stream s = scenario_stream(e);
  MPI_Comm nobody = MPI_COMM_NULL;
  int files = e->files, rank = -7;
  sion_int64 chunk = write ? e->chunk[run.rank] : -7;
  sion_int32 block = write ? e->block : -7;
  FILE* fp = NULL;
  environment("SION_COLLSIZE", write ? e->write_collsize : e->read_collsize);
  environment("SION_COLLNUM", e->collnum);
  s.sid = sion_paropen_mpi(path(file), write ? e->write_mode : e->read_mode, &files, run.comm, &nobody,
                           &chunk, &block, &rank, with_fp ? &fp : NULL, NULL);
  if (expect(write ? "open to write" : "open to read", "a handle", 1, s.sid >= 0)) {
    expect("sion_paropen_mpi", "files", e->files, files);
    if (!write) expect("sion_paropen_mpi", "chunk size", stored_chunk(e, run.rank), chunk);
    run_steps(&s, write ? e->writing : e->reading, run.rank, write ? "writing" : "reading");
    expect("sion_parclose_mpi", "result", 1, sion_parclose_mpi(s.sid));
  }
  environment("SION_COLLSIZE", NULL);
  environment("SION_COLLNUM", NULL);
  meet();
}

/* Checks chunk sizes, ranks and bytes of all tasks with a serial open on task 0. */
static inline void scenario_sizes(const struct scenario* e, const char* file) {
  int ntasks = 0, nfiles = 0, blocks = 0;
  sion_int32 block = 0;
  sion_int64 skip, behind, *chunks, *ranks, *counts, *sizes;
  const int sid = sion_open((char*)path(file), "rb", &ntasks, &nfiles, NULL, &block, NULL, NULL);
  if (!expect("sion_open", "a handle", 1, sid >= 0)) return;
  expect("sion_open", "tasks", e->tasks, ntasks);
  expect("sion_get_locations", "result", 1,
         sion_get_locations(sid, &ntasks, &blocks, &skip, &behind, &chunks, &ranks, &counts, &sizes));
  for (int t = 0; t < ntasks && t < e->tasks; t++) {
    long long bytes = 0;
    for (int k = 0; k < counts[t]; k++) bytes += sizes[ntasks * k + t];
    expect("sion_get_locations", "chunk size of a task", stored_chunk(e, t), chunks[t]);
    expect("sion_get_locations", "global rank", t, ranks[t]);
    if (e->bytes[0] != SKIP) expect("sion_get_locations", "bytes of a task", e->bytes[t], bytes);
  }
  expect("sion_close", "result", 1, sion_close(sid));
}

/* Writes, reads and checks the multifile, first without and then with a FILE* from the open. */
static inline void run_scenario(const struct scenario* e) {
  if (begin_case(e->name, e->tasks)) {
    for (int with_fp = 0; with_fp < 2; with_fp++) {
      scenario_way(e, "scenario", 1, with_fp);
      scenario_way(e, "scenario", 0, with_fp);
      if (run.rank == 0) scenario_sizes(e, "scenario");
      meet();
    }
  }
  end_case(e->tasks);
}

#endif
