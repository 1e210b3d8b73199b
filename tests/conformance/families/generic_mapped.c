/* generic_mapped.c: tests mapped opens of the generic interface, its buddy copies, and opens that must fail.
 */
#include "client.h"

/* Opens that must fail in a group of one task. `without` is the number of the callback that the API lacks;
   -1: it has all callbacks; -2: the API does not exist. */
static const struct generic_refusal {
  const char* name;
  int without, lrank, lsize, file, files;
  const char* mode;
} refusals[] = {
    {"without create_local_commgroup", 0, 0, 1, 0, 1, "wb"},
    {"without free_local_commgroup", 1, 0, 1, 0, 1, "wb"},
    {"without barrier", 2, 0, 1, 0, 1, "wb"},
    {"without bcastr", 3, 0, 1, 0, 1, "wb"},
    {"without gatherr", 4, 0, 1, 0, 1, "wb"},
    {"without gathervr", 5, 0, 1, 0, 1, "wb"},
    {"without scatterr", 6, 0, 1, 0, 1, "wb"},
    {"without scattervr", 7, 0, 1, 0, 1, "wb"},
    {"local rank beyond the file", -1, 1, 1, 0, 1, "wb"},
    {"negative local rank", -1, -1, 1, 0, 1, "wb"},
    {"file beyond the set", -1, 0, 1, 1, 1, "wb"},
    {"negative file", -1, 0, 1, -1, 1, "wb"},
    {"nothing to read", -1, 0, 1, 0, 1, "rb"},
    {"neither read nor write", -1, 0, 1, 0, 1, "ansi"},
    {"invalid id", -2, 0, 1, 0, 1, "wb"},
};

static void refuse(const struct generic_refusal* e) {
  struct group global = group_all(1);
  const int aid = e->without == -2 ? 4711 : make_api(e->without, 0, 0);
  int file = e->file, files = e->files;
  client.global = &global;
  client.placed[1] = 0;
  client.phase = OPENING;
  expect("sion_generic_paropen", "result", -1,
         sion_generic_paropen(aid, path("refused"), e->mode, &(sion_int64){100}, &(sion_int32){64}, &global,
                              0, 1, &file, &files, &e->lrank, &e->lsize, NULL, NULL));
  client.phase = LOCAL;
  if (e->without != -2) sion_generic_free_api(aid);
}

/* Mapped opens with two tasks per process in `files` files. */
static const struct {
  const char *name, *mode, *read_mode;
  int processes, files, names;
} mapped[] = {
    {"mapped, one process", "wb", "rb", 1, 1, 0},
    {"mapped, one process, two files", "wb", "rb,posix", 1, 2, 0},
    {"mapped, two processes", "wb,posix", "rb", 2, 1, 0},
    {"mapped, four processes, two files", "wb", "rb", 4, 2, 0},
    {"mapped, names of the client", "wb", "rb", 2, 2, 1},
    {"mapped, six processes, three files", "wb", "rb", 6, 3, 0},
};

static void run_mapped(int i, int aid, struct group* global, int write) {
  int files = write ? mapped[i].files : -5, count = 2, ranks[2], numbers[2], lranks[2];
  int *r = ranks, *n = numbers, *l = lranks;
  sion_int64 chunks[] = {100, 100}, *c = chunks;
  sion_int32 block = 64;
  struct stream s;
  memset(&s, 0, sizeof s);
  client.global = global;
  client.placed[1] = 0;
  for (int k = 0; k < 2; k++) { /* task t is in file t mod F */
    ranks[k] = 2 * run.rank + k;
    numbers[k] = write ? ranks[k] % mapped[i].files : -5;
    lranks[k] = write ? ranks[k] / mapped[i].files : -5;
  }
  client.phase = write ? MAPPED_WRITING : OPENING;
  s.sid =
      sion_generic_paropen_mapped(aid, (char*)path("mapped"), write ? mapped[i].mode : mapped[i].read_mode,
                                  &files, global, run.rank, run.size, &count, &r, &c, &n, &l, &block, NULL);
  client.phase = LOCAL;
  if (!expect("sion_generic_paropen_mapped", "a handle", 1, s.sid >= 0)) return;
  expect("sion_generic_paropen_mapped", "files", mapped[i].files, files);
  for (int k = 0; k < 2; k++) {
    static const struct step w[] = {
        {ALL, WRITE, 1, 90, 0, 90, 0}, {ALL, WRITE, 60, 1, 0, 1, 0}, {0, END, 0, 0, 0, 0, 0}};
    static const struct step b[] = {{ALL, READ, 1, 90, 0, 90, 0},
                                    {ALL, READ, 60, 1, 90, 1, 0},
                                    {ALL, FEOF, 0, 0, 0, 1, 0},
                                    {0, END, 0, 0, 0, 0, 0}};
    expect("sion_generic_paropen_mapped", "file", ranks[k] % mapped[i].files, numbers[k]);
    expect("sion_generic_paropen_mapped", "local rank", ranks[k] / mapped[i].files, lranks[k]);
    expect("sion_generic_paropen_mapped", "chunk size", write ? 100 : 128, chunks[k]);
    run_step(&s, &(struct step){ALL, SEEK, ranks[k], SION_CURRENT_BLK, SION_CURRENT_POS, 1, 0}, "select");
    run_rows(&s, write ? w : b, write ? "mapped writing" : "mapped reading");
  }
  client.phase = write ? MAPPED_WRITING : CLOSING;
  expect("sion_generic_parclose_mapped", "result", 1, sion_generic_parclose_mapped(s.sid));
  client.phase = LOCAL;
}

/* Cases of buddy copies, with one file per task. Before reading, task 0 removes file `lost` of the set and
   file `lost_copy` of its copy; -1: none. */
static const struct {
  const char* name;
  int tasks, lost, lost_copy, opens;
} buddies[] = {{"buddy copies, two tasks", 2, -1, -1, 1},
               {"buddy copies, the first file is lost", 2, 0, -1, 1},
               {"buddy copies, the last of four is lost", 4, 3, -1, 1},
               {"buddy copies, file and copy are lost", 2, 1, 1, 0}};

static void buddy_way(int i, int aid, struct group* global, int write) {
  static const struct step w[] = {
      {ALL, CWRITE, 1, 90, 0, 90, 0}, {ALL, CWRITE, 5, 10, 0, 10, 0}, {0, END, 0, 0, 0, 0, 0}};
  static const struct step r[] = {
      {ALL, CREAD, 1, 90, 0, 90, 0}, {ALL, CREAD, 5, 10, 90, 10, 0}, {0, END, 0, 0, 0, 0, 0}};
  const int lrank = 0, lsize = 1;
  int number = run.rank, files = run.size;
  sion_int64 chunk = 100;
  sion_int32 block = 64;
  struct stream s;
  memset(&s, 0, sizeof s);
  s.task = run.rank;
  client.global = global;
  client.placed[1] = 0;
  client.phase = OPENING;
  s.sid = sion_generic_paropen(aid, path("buddies"), write ? "wb,buddy" : "rb,buddy", &chunk, &block, global,
                               run.rank, run.size, &number, &files, &lrank, &lsize, NULL, NULL);
  client.phase = LOCAL;
  if (!expect("sion_generic_paropen", "it opens", write || buddies[i].opens, s.sid >= 0) || s.sid < 0) return;
  expect("sion_generic_paropen", "files", run.size, files);
  run_rows(&s, write ? w : r, write ? "buddy writing" : "buddy reading");
  client.phase = CLOSING;
  expect("sion_generic_parclose", "result", 1, sion_generic_parclose(s.sid));
  client.phase = LOCAL;
}

static void run_buddy(int i) {
  struct group global = group_all(0);
  const int aid = make_api(-1, 1, 0);
  client.capability = 50;
  buddy_way(i, aid, &global, 1);
  meet();
  if (run.rank == 0 && buddies[i].lost >= 0) unlink(file_name(path("buddies"), buddies[i].lost));
  if (run.rank == 0 && buddies[i].lost_copy >= 0)
    unlink(file_name(path("buddies_BUDDY_00"), buddies[i].lost_copy));
  meet();
  buddy_way(i, aid, &global, 0);
  sion_generic_free_api(aid);
  MPI_Comm_free(&global.comm);
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv, MPI_THREAD_SINGLE);
  for (int i = 0; i < COUNT(refusals); i++) {
    if (begin_case(refusals[i].name, 1)) refuse(&refusals[i]);
    end_case(1);
  }
  for (int i = 0; i < COUNT(mapped); i++) {
    if (begin_case(mapped[i].name, mapped[i].processes)) {
      struct group global = group_all(mapped[i].processes == 1);
      const int aid = make_api(-1, 0, mapped[i].names);
      run_mapped(i, aid, &global, 1);
      run_mapped(i, aid, &global, 0);
      sion_generic_free_api(aid);
      if (global.comm != MPI_COMM_NULL) MPI_Comm_free(&global.comm);
    }
    end_case(mapped[i].processes);
  }
  for (int i = 0; i < COUNT(buddies); i++) {
    if (begin_case(buddies[i].name, buddies[i].tasks)) run_buddy(i);
    end_case(buddies[i].tasks);
  }
  return end_program();
}
