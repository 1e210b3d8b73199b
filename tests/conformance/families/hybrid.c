/* hybrid.c: tests sion_paropen_ompi, whose tasks are the threads of all processes, and sion_paropen_omp,
 * whose tasks are the threads of one team. Makes individual and collective calls. Every thread of a team
 * makes each call with its own variables and handle. */
#define SION_OMP
#include "hybrid_cases.h"

#include <omp.h>

/* Runs rows on one thread. Local rows run in a critical region, because the threads share the counters of
 * checks. Collective rows run outside of it, because all threads must make the call at the same time. */
static void run_rows(struct stream* s, const struct step* rows, int task, const char* table) {
  for (int i = 0; rows[i].call != END; i++) {
    if (rows[i].who != ALL && rows[i].who != task) continue;
    if (rows[i].call == CWRITE || rows[i].call == CREAD) {
      unsigned char data[1000];
      const int write = rows[i].call == CWRITE;
      const long long bytes = rows[i].a * rows[i].b;
      if (write) fill(data, task, s->written[task], bytes);
      const size_t got = write ? sion_coll_fwrite(data, (size_t)rows[i].a, (size_t)rows[i].b, s->sid)
                               : sion_coll_fread(data, (size_t)rows[i].a, (size_t)rows[i].b, s->sid);
#pragma omp critical
      {
        expect(table, write ? "sion_coll_fwrite: items" : "sion_coll_fread: items", rows[i].expected,
               (long long)got);
        if (!write && (long long)got == rows[i].b) expect_bytes(table, task, rows[i].c, data, bytes);
      }
      s->written[task] += write ? (long long)got * rows[i].a : 0;
    } else {
      struct step one[2] = {rows[i], {0, END, 0, 0, 0, 0, 0}};
      one[0].who = ALL;
#pragma omp critical
      run_steps(s, one, task, table);
    }
  }
}

static int processes_of(const struct hybrid_case* e) { return e->processes ? e->processes : 1; }
static int tasks_of(const struct hybrid_case* e) { return processes_of(e) * e->threads; }
static int files_of(const struct hybrid_case* e) { return e->file_of[tasks_of(e) - 1] - '0' + 1; }

static void place(const struct hybrid_case* e, int task, struct stream* s) {
  struct stream in_file;
  long long chunks[MOST];
  int n = 0, mine = 0;
  for (int t = 0; t < tasks_of(e); t++) {
    if (e->file_of[t] != e->file_of[task]) continue;
    if (t == task) mine = n;
    chunks[n++] = e->stored[t];
  }
  lay_out(&in_file, chunks, n, 64);
  memset(s, 0, sizeof *s);
  s->task = task;
  s->start[task] = in_file.start[mine];
  s->skip = in_file.skip;
}

/* Writes or reads on one thread. */
static void one_thread(const struct hybrid_case* e, const char* file, MPI_Comm comm, int write) {
  const int thread = omp_get_thread_num(), task = run.rank * e->threads + thread;
  const char* mode = write ? e->mode : e->read_mode;
  struct stream s;
  MPI_Comm local = comm;
  int files = write ? e->files : -7, rank = -7;
  sion_int64 chunk = write ? 100 : -7;
  sion_int32 block = write ? 64 : -7;
  FILE* fp = NULL;
  char* newname = NULL;
  place(e, task, &s);
  s.sid = e->processes
              ? sion_paropen_ompi(file, mode, &files, run.comm, &local, &chunk, &block, &rank, &fp, &newname)
              : sion_paropen_omp(file, mode, &chunk, &block, &rank, &fp, &newname);
#pragma omp critical
  {
    expect("open", "a handle", 1, s.sid >= 0);
    if (e->processes) expect("open", "files", files_of(e), files);
    expect("open", "global rank", e->processes || write ? task : -7, rank);
    expect("open", "chunk size", write ? 100 : e->stored[task], chunk);
    expect("open", "block size", 64, block);
    expect("open", "a stream in ansi mode", !strstr(mode, "posix"), fp != NULL);
    expect_text("newfname", "name", file_name(file, e->file_of[task] - '0'), newname);
    expect("sion_get_filenumber", "number", e->file_of[task] - '0', sion_get_filenumber(s.sid));
    expect("sion_get_number_of_files", "files", files_of(e), sion_get_number_of_files(s.sid));
    expect("sion_is_serial_opened", "result", 0, sion_is_serial_opened(s.sid));
  }
#pragma omp barrier
  if (s.sid >= 0) run_rows(&s, write ? e->writing : e->reading, task, write ? "writing" : "reading");
#pragma omp barrier
  const int closed = e->processes ? sion_parclose_ompi(s.sid) : sion_parclose_omp(s.sid);
#pragma omp critical
  expect("close", "result", 1, closed);
#pragma omp barrier
  const int again = e->processes ? sion_parclose_ompi(s.sid) : sion_parclose_omp(s.sid);
#pragma omp critical
  expect("close", "once more", e->processes ? -1 : 0, again);
  free(newname);
}

static void one_way(const struct hybrid_case* e, int write) {
  MPI_Comm local = MPI_COMM_NULL;
  char file[700];
  snprintf(file, sizeof file, "%s", path("hybrid"));
  if (e->each) MPI_Comm_split(run.comm, run.rank, 0, &local);
  environment("SION_COLLSIZE", write ? e->collsize : e->read_collsize);
#pragma omp parallel num_threads(e->threads)
  one_thread(e, file, local, write);
  environment("SION_COLLSIZE", NULL);
  if (e->each) MPI_Comm_free(&local);
  meet();
}

static void check_serially(const struct hybrid_case* e) {
  int ntasks = 0, nfiles = 0, blocks;
  sion_int64 skip, behind, *chunks, *ranks, *counts, *sizes;
  const int sid =
      sion_open((char*)path("hybrid"), "rb", &ntasks, &nfiles, NULL, &(sion_int32){0}, NULL, NULL);
  if (!expect("sion_open", "a handle", 1, sid >= 0)) return;
  expect("sion_open", "tasks", tasks_of(e), ntasks);
  expect("sion_open", "files", files_of(e), nfiles);
  sion_get_locations(sid, &ntasks, &blocks, &skip, &behind, &chunks, &ranks, &counts, &sizes);
  for (int t = 0; t < tasks_of(e); t++) {
    long long bytes = 0;
    for (int k = 0; k < counts[t]; k++) bytes += sizes[ntasks * k + t];
    expect("sion_get_locations", "global rank", t, ranks[t]);
    expect("sion_get_locations", "chunk size of a task", e->stored[t], chunks[t]);
    expect("sion_get_locations", "bytes of a task", e->bytes[t], bytes);
  }
  sion_close(sid);
}

/* Opens that must fail on all threads. */
static const struct {
  const char *name, *mode;
  int files;
  long long chunk;
} refusals[] = {
    {"neither read nor write", "ansi", 1, 100},
    {"negative chunk size", "wb", 1, -1},
    {"more files than processes", "wb", 3, 100},
    {"nothing to read", "rb", 1, 100},
};

static void refuse(int i) {
  char file[700];
  snprintf(file, sizeof file, "%s", path("refused"));
#pragma omp parallel num_threads(2)
  {
    int files = refusals[i].files, rank = 0;
    sion_int64 chunk = refusals[i].chunk;
    sion_int32 block = 64;
    MPI_Comm local = MPI_COMM_NULL;
    const int sid = sion_paropen_ompi(file, refusals[i].mode, &files, run.comm, &local, &chunk, &block, &rank,
                                      NULL, NULL);
#pragma omp critical
    expect("sion_paropen_ompi", "result", -1, sid);
  }
}

/* If a team of another size closes the multifile, the close must fail and leave the handles valid. */
static void other_team(void) {
  char file[700];
  int sids[2], results[2];
  snprintf(file, sizeof file, "%s", path("teams"));
#pragma omp parallel num_threads(2)
  {
    const int thread = omp_get_thread_num();
    sids[thread] = sion_paropen_omp(file, "wb", &(sion_int64){100}, &(sion_int32){64}, &(int){0}, NULL, NULL);
  }
#pragma omp parallel num_threads(1)
  results[0] = sion_parclose_omp(sids[0]);
  expect("sion_parclose_omp", "by fewer threads", 0, results[0]);
#pragma omp parallel num_threads(2)
  results[omp_get_thread_num()] = sion_parclose_omp(sids[omp_get_thread_num()]);
  for (int i = 0; i < 2; i++) expect("sion_parclose_omp", "by the threads that opened", 1, results[i]);
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv, MPI_THREAD_FUNNELED);
  for (int i = 0; i < COUNT(cases); i++) {
    if (begin_case(cases[i].name, processes_of(&cases[i]))) {
      one_way(&cases[i], 1);
      if (run.rank == 0) check_serially(&cases[i]);
      if (cases[i].reading) one_way(&cases[i], 0);
    }
    end_case(processes_of(&cases[i]));
  }
  for (int i = 0; i < COUNT(refusals); i++) {
    if (begin_case(refusals[i].name, 2)) refuse(i);
    end_case(2);
  }
  if (begin_case("a team of another size", 1)) other_team();
  end_case(1);
  if (begin_case("locks", 1))
    expect("sion_lock_user_callbacks_defined", "result", 1, sion_lock_user_callbacks_defined());
  end_case(1);
  return end_program();
}
