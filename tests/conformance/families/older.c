/* older.c: tests older calls that programs still use: sion_parreinit_mpi, the older names of opens and of
 * collective calls, and transactions. */
#include "steps.h"

static const struct step writing[] = {{ALL, WRITTEN, 0, 0, 0, 0, 0},
                                      {ALL, WRITE, 1, 60, 0, 60, 0},
                                      {ALL, WRITE, 1, 50, 0, 50, 0},
                                      {0, END, 0, 0, 0, 0, 0}};
static const struct step reading[] = {{ALL, READ, 1, 60, 0, 60, 0},
                                      {ALL, READ, 5, 10, 60, 10, 0},
                                      {ALL, FEOF, 0, 0, 0, 1, 0},
                                      {0, END, 0, 0, 0, 0, 0}};

/* The open, the new chunk size (requested, then stored) or 0, and the way of writing. */
enum name { PAROPEN, COMMS, MULTI };
static const struct older_case {
  const char* name;
  int tasks;
  enum name open;
  int files, files_out;
  long long chunk, reinit, stored;
  int collective, transaction;
} cases[] = {
    {"reinit to larger chunks", 2, PAROPEN, 1, 1, 64, 110, 128, 0, 0},
    {"reinit to smaller chunks", 1, PAROPEN, 1, 1, 1000, 64, 64, 0, 0},
    {"reinit, four tasks, two files", 4, PAROPEN, 2, 2, 64, 300, 320, 0, 0},
    {"reinit to the same", 2, PAROPEN, 1, 1, 100, 100, 128, 0, 0},
    {"sion_paropen_comms_mpi", 2, COMMS, 7, 2, 100, 0, 128, 0, 0},
    {"sion_paropen_comms_mpi, four tasks", 4, COMMS, 1, 2, 100, 0, 128, 0, 0},
    {"sion_paropen_multi_mpi", 2, MULTI, 1, 1, 100, 0, 128, 0, 0},
    {"sion_paropen_multi_mpi, two files", 4, MULTI, 2, 2, 100, 0, 128, 0, 0},
    {"sion_paropen_multi_mpi, by communicators", 4, MULTI, -1, 2, 100, 0, 128, 0, 0},
    {"sion_coll_fwrite_mpi, sion_coll_fread_mpi", 4, PAROPEN, 1, 1, 128, 0, 128, 1, 0},
    {"transactions", 6, PAROPEN, 1, 1, 100, 0, 128, 0, 1},
    {"transactions, two files", 2, PAROPEN, 2, 2, 100, 0, 128, 0, 1},
};

static int open_case(const struct older_case* e, int write, int* files, MPI_Comm* local, sion_int64* chunk) {
  char *name = (char*)path("older"), unused[1024] = "untouched";
  const char* mode = write ? "wb" : "rb";
  sion_int32 block = 64;
  int rank = -7, sid;
  if (e->open == COMMS)
    sid = sion_paropen_comms_mpi(name, mode, files, run.comm, *local, chunk, &block, &rank, NULL, unused);
  else if (e->open == MULTI)
    sid = sion_paropen_multi_mpi(name, mode, files, run.comm, local, chunk, &block, &rank, NULL, unused);
  else
    sid = sion_paropen_mpi(name, mode, files, run.comm, local, chunk, &block, &rank, NULL, NULL);
  expect("open", "a handle", 1, sid >= 0);
  expect("open", "global rank", run.rank, rank);
  expect("open", "block size", 64, block);
  if (e->open != PAROPEN) expect_text("open", "newfname is ignored", "untouched", unused);
  return sid;
}

static void transfer(const struct older_case* e, struct stream* s, int write) {
  unsigned char data[110];
  if (!e->collective) {
    run_steps(s, write ? writing : reading, run.rank, write ? "writing" : "reading");
    return;
  }
  fill(data, run.rank, 0, 110);
  const size_t got =
      write ? sion_coll_fwrite_mpi(data, 1, 110, s->sid) : sion_coll_fread_mpi(data, 10, 11, s->sid);
  expect("older collective call", "items", write ? 110 : 11, (long long)got);
  expect_bytes("older collective call", run.rank, 0, data, 110);
}

static void one_way(const struct older_case* e, int write) {
  MPI_Comm local;
  struct stream s;
  int files = e->files;
  sion_int64 chunk = e->chunk;
  MPI_Comm_split(run.comm, run.rank / ((run.size + 1) / 2), run.rank, &local); /* two communicators */
  memset(&s, 0, sizeof s);
  s.task = run.rank;
  s.sid = open_case(e, write, &files, &local, &chunk);
  expect("open", "files", e->files_out, files);
  expect("open", "chunk size", write ? e->chunk : e->stored, chunk);
  if (write && e->reinit) expect("sion_parreinit_mpi", "result", 1, sion_parreinit_mpi(s.sid, e->reinit));
  if (!write) expect("sion_parreinit_mpi", "in reading", 0, sion_parreinit_mpi(s.sid, 100));
  if (e->transaction)
    expect("sion_startof_transaction_mpi", "result", 1, sion_startof_transaction_mpi(s.sid));
  transfer(e, &s, write);
  if (e->transaction) expect("sion_endof_transaction_mpi", "result", 1, sion_endof_transaction_mpi(s.sid));
  expect("sion_parclose_mpi", "result", 1, sion_parclose_mpi(s.sid));
  MPI_Comm_free(&local);
  meet();
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv, MPI_THREAD_SINGLE);
  for (int i = 0; i < COUNT(cases); i++) {
    if (begin_case(cases[i].name, cases[i].tasks)) {
      one_way(&cases[i], 1);
      one_way(&cases[i], 0);
    }
    end_case(cases[i].tasks);
  }
  return end_program();
}
