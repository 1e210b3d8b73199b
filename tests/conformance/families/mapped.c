/* mapped.c: tests sion_paropen_mapped_mpi and sion_parclose_mapped_mpi with placements, given and automatic
 * lists of tasks, switches between tasks, and opens that must fail. */
#include "steps.h"

#define CUR SION_CURRENT_RANK
#define CBLK SION_CURRENT_BLK
#define CPOS SION_CURRENT_POS

enum { TASKS = 7, BLOCK = 64 };

/* A placement states owner, physical file and local rank of each task as digits. If the owner is blank, no
 * process has the task. */
struct placement {
  const char* name;
  int processes, files, tasks;
  const char *owner, *file, *lrank, *mode;
};

static const struct placement placements[] = {
    {"one process, one file", 1, 1, 7, "0000000", "0000000", "0123456", "wb"},
    {"one process, three files", 1, 3, 7, "0000000", "2010221", "1001021", "wb,posix"},
    {"two processes, one file", 2, 1, 7, "0101010", "0000000", "0123456", "wb"},
    {"two processes, three files", 2, 3, 7, "0110100", "2010221", "1001021", "wb"},
    {"a process without tasks", 4, 2, 5, "33100", "00101", "01021", "wb"},
    {"all with one process", 4, 2, 7, "2222222", "0011010", "0101223", "wb,posix"},
    {"six processes, a file each", 6, 6, 6, "543210", "012345", "000000", "wb"},
    {"six processes, more tasks than files", 6, 2, 7, "0123450", "1100110", "0101232", "w"},
};

static long long chunk_of(int task) { return 40 + 30 * task; }

struct lists {
  int count, *ranks, *files, *lranks;
  sion_int64* chunks;
};

static struct lists list_room(void) {
  struct lists l = {0, calloc(TASKS, sizeof(int)), calloc(TASKS, sizeof(int)), calloc(TASKS, sizeof(int)),
                    calloc(TASKS, sizeof(sion_int64))};
  return l;
}

static void free_lists(struct lists* l) {
  free(l->ranks);
  free(l->files);
  free(l->lranks);
  free(l->chunks);
}

static struct lists lists_of(const struct placement* p) {
  struct lists l = list_room();
  for (int t = p->tasks; t-- > 0;) { /* any order is allowed */
    if (p->owner[t] - '0' != run.rank) continue;
    l.ranks[l.count] = t;
    l.files[l.count] = p->file[t] - '0';
    l.lranks[l.count] = p->lrank[t] - '0';
    l.chunks[l.count++] = chunk_of(t);
  }
  return l;
}

/* Stores in `s` the chunk starts of the tasks of `file`. */
static void place(const struct placement* p, struct stream* s, int file) {
  struct stream in_file;
  long long chunks[TASKS] = {0};
  int n = 0;
  for (int t = 0; t < p->tasks; t++) {
    if (p->file[t] - '0' != file) continue;
    chunks[p->lrank[t] - '0'] = align_up(chunk_of(t), BLOCK);
    n++;
  }
  lay_out(&in_file, chunks, n, BLOCK);
  for (int t = 0; t < p->tasks; t++)
    if (p->file[t] - '0' == file) s->start[t] = in_file.start[p->lrank[t] - '0'];
  s->skip = in_file.skip;
}

/* Runs the rows of a table on one task. The physical file of the task determines the expected offsets. */
static void on_task(const struct placement* p, struct stream* s, int task, const struct step* steps,
                    const char* table) {
  place(p, s, p->file[task] - '0');
  run_step(s, &(struct step){ALL, SEEK, task, CBLK, CPOS, 1, 0}, table);
  expect(table, "file of the current task", p->file[task] - '0', sion_get_filenumber(s->sid));
  run_steps(s, steps, task, table);
}

/* Each table runs on every local task before the next table begins. */
static const struct step first[] = {{ALL, OFFSET, 0, 0, 0, 0, 0},  {ALL, WRITE, 1, 30, 0, 30, 0},
                                    {ALL, OFFSET, 0, 30, 0, 0, 0}, {ALL, WRITTEN, 0, 0, 0, 30, 0},
                                    {ALL, FEOF, 0, 0, 0, 1, 0},    {0, END, 0, 0, 0, 0, 0}};
static const struct step second[] = {
    {ALL, OFFSET, 0, 30, 0, 0, 0}, {ALL, WRITTEN, 0, 0, 0, 30, 0}, {ALL, WRITE, 5, 4, 0, 4, 0},
    {0, ENSURE, 33, 0, 0, 1, 0},   {0, AT, 1, 0, SKIP, 1, 0},      {0, ENSURE, 65, 0, 0, 0, 0},
    {0, OFFSET, 1, 0, 0, 0, 0},    {1, ENSURE, 65, 0, 0, 1, 0},    {1, WRITE, 65, 1, 0, 1, 0},
    {1, OFFSET, 0, 115, 0, 0, 0},  {6, WRITE, 1, 0, 0, 0, 0},      {ALL, READ, 1, 1, 0, 0, 0},
    {0, END, 0, 0, 0, 0, 0}};
static const struct step back_first[] = {{ALL, OFFSET, 0, 0, 0, 0, 0},
                                         {ALL, READ, 1, 10, 0, 10, 0},
                                         {ALL, GOT, 0, 0, 0, 10, 0},
                                         {ALL, FEOF, 0, 0, 0, 0, 0},
                                         {0, END, 0, 0, 0, 0, 0}};
static const struct step back_second[] = {
    {ALL, OFFSET, 0, 10, 0, 0, 0},  {ALL, GOT, 0, 0, 0, 10, 0},
    {ALL, READ, 4, 10, 10, 10, 0},  {0, FEOF, 0, 0, 0, 0, 0},
    {0, AT, 1, 0, 2, 1, 0},         {0, FEOF, 0, 0, 0, 1, 0},
    {1, AVAIL, 0, 0, 0, 65, 0},     {1, READ, 65, 1, 50, 1, 0},
    {1, FEOF, 0, 0, 0, 1, 0},       {2, FEOF, 0, 0, 0, 1, 0},
    {6, FEOF, 0, 0, 0, 1, 0},       {ALL, SEEK, OWN, 0, 7, 1, 0},
    {ALL, READ, 1, 3, 7, 3, 0},     {ALL, SEEK, OWN, SION_ABSOLUTE_POS, 50, 1, 0},
    {ALL, SEEK, OWN, 0, 999, 0, 0}, {1, SEEK, OWN, SION_END_POS, -65, 1, 0},
    {1, READ, 1, 5, 50, 5, 0},      {ALL, WRITE, 1, 1, 0, 0, 0},
    {ALL, WRITTEN, 0, 0, 0, -1, 0}, {0, END, 0, 0, 0, 0, 0}};

static int open_lists(const char* mode, int* files, struct lists* l, sion_int32* block, FILE** fp) {
  return sion_paropen_mapped_mpi((char*)path("mapped"), mode, files, run.comm, &l->count, &l->ranks,
                                 &l->chunks, &l->files, &l->lranks, block, fp);
}

static void write_placement(const struct placement* p) {
  struct lists l = lists_of(p);
  struct stream s;
  FILE* fp = NULL;
  int files = p->files;
  sion_int32 block = BLOCK;
  const int tasks = l.count;
  memset(&s, 0, sizeof s);
  s.sid = open_lists(p->mode, &files, &l, &block, &fp);
  if (expect("open to write", "a handle", 1, s.sid >= 0)) {
    expect("open to write", "files", p->files, files);
    expect("open to write", "block size", BLOCK, block);
    expect("open to write", "local tasks", tasks, l.count);
    expect("sion_get_number_of_files", "files", p->files, sion_get_number_of_files(s.sid));
    expect("sion_is_serial_opened", "result", 0, sion_is_serial_opened(s.sid));
    if (tasks) expect("open to write", "a stream in ansi mode", !strstr(p->mode, "posix"), fp != NULL);
    if (fp && tasks)
      place(p, &s, l.files[0]),
          expect("open to write", "the first task's stream", s.start[l.ranks[0]], ftell(fp));
    for (int i = 0; i < tasks; i++) {
      expect("open to write", "chunk size is not changed", chunk_of(l.ranks[i]), l.chunks[i]);
      on_task(p, &s, l.ranks[i], first, "first");
    }
    for (int i = tasks; i-- > 0;) on_task(p, &s, l.ranks[i], second, "second");
    for (int t = 0; t < p->tasks && tasks; t++)
      if (p->owner[t] - '0' != run.rank)
        run_step(&s, &(struct step){ALL, SEEK, t, CBLK, CPOS, 0, 0}, "task of another");
    if (tasks) run_step(&s, &(struct step){ALL, SEEK, 99, CBLK, CPOS, 0, 0}, "no such task");
    expect("sion_dup", "of a handle that writes", -1, sion_dup(s.sid, SION_DUP_ALL, 0, 0));
    expect("sion_parclose_mapped_mpi", "result", 1, sion_parclose_mapped_mpi(s.sid));
    expect("sion_parclose_mapped_mpi", "once more", -1, sion_parclose_mapped_mpi(s.sid));
  }
  free_lists(&l);
  meet();
}

static void check_mapping(const struct placement* p, int sid) {
  int size = -7, files = -7;
  sion_int32* mapping = NULL;
  expect("sion_get_mapping", "result", 1, sion_get_mapping(sid, &size, &mapping, &files));
  expect("sion_get_mapping", "files", p->files, files);
  expect("sion_get_mapping", "tasks", p->tasks, size);
  for (int t = 0; mapping && t < size; t++) {
    expect("sion_get_mapping", "file", p->file[t] - '0', mapping[2 * t]);
    expect("sion_get_mapping", "local rank", p->lrank[t] - '0', mapping[2 * t + 1]);
  }
}

/* Returns the first task of this process when the library chooses the tasks. SIONlib assigns the remainder of
 * the division to the last process. This library assigns one more task to each of the first processes
 * (docs/api-mapped.md). */
static int first_of_share(int tasks) {
  const int more = tasks % run.size;
  return run.rank * (tasks / run.size) + (run.rank < more ? run.rank : more);
}

/* The arrays that an open for reading gets: arrays of the caller, pointers to arrays that the library
 * allocates, or NULL. */
enum array_source { GIVEN, MADE, NOT_WANTED };

static void read_tasks(const struct placement* p, int count, const int* ranks, enum array_source arrays,
                       const char* mode) {
  struct lists l = list_room();
  struct stream s;
  int files = -7, expected = count;
  int **wanted_files = &l.files, **wanted_lranks = &l.lranks;
  sion_int64 *made = NULL, **wanted_chunks = &l.chunks;
  sion_int32 block = BLOCK;
  memset(&s, 0, sizeof s);
  if (arrays != GIVEN) {
    free(l.files), free(l.lranks), free(l.chunks);
    l.files = l.lranks = NULL, l.chunks = made;
  }
  if (arrays == NOT_WANTED) wanted_files = wanted_lranks = NULL, wanted_chunks = NULL;
  l.count = count;
  for (int i = 0; i < count; i++) l.ranks[i] = ranks[i];
  if (count < 0) {
    free(l.ranks);
    l.ranks = NULL;
    expected = p->tasks / run.size + (run.rank < p->tasks % run.size ? 1 : 0);
  }
  s.sid = sion_paropen_mapped_mpi((char*)path("mapped"), mode, &files, run.comm, &l.count, &l.ranks,
                                  wanted_chunks, wanted_files, wanted_lranks, &block, NULL);
  if (expect("open to read", "a handle", 1, s.sid >= 0)) {
    expect("open to read", "files", p->files, files);
    expect("open to read", "local tasks", expected, l.count);
    check_mapping(p, s.sid);
    for (int i = 0; i < l.count; i++) {
      const int t = count < 0 ? first_of_share(p->tasks) + i : ranks[i];
      expect("open to read", "global rank", t, l.ranks[i]);
      if (arrays == NOT_WANTED) continue;
      expect("open to read", "chunk size", align_up(chunk_of(t), BLOCK), l.chunks[i]);
      expect("open to read", "file", p->file[t] - '0', l.files[i]);
      expect("open to read", "local rank", p->lrank[t] - '0', l.lranks[i]);
    }
    for (int i = 0; i < l.count; i++) on_task(p, &s, l.ranks[i], back_first, "back first");
    for (int i = l.count; i-- > 0;) on_task(p, &s, l.ranks[i], back_second, "back second");
    if (l.count > 0 && l.count < p->tasks) {
      int other = 0;
      for (int i = 0; i < l.count; i++)
        if (l.ranks[i] == other) other++, i = -1;
      run_step(&s, &(struct step){ALL, SEEK, other, CBLK, CPOS, 0, 0}, "task of another");
    }
    expect("sion_parclose_mapped_mpi", "result", 1, sion_parclose_mapped_mpi(s.sid));
  }
  free_lists(&l);
  meet();
}

/* Checks the block counts, the sizes and the ranks with a serial open. */
static void check_serially(const struct placement* p) {
  int ntasks = 0, nfiles = 0, blocks = 0;
  sion_int32 block = 0;
  sion_int64 skip, behind, *chunks, *ranks, *counts, *sizes;
  const int sid = sion_open((char*)path("mapped"), "rb", &ntasks, &nfiles, NULL, &block, NULL, NULL);
  if (!expect("sion_open", "a handle", 1, sid >= 0)) return;
  expect("sion_open", "tasks", p->tasks, ntasks);
  expect("sion_open", "files", p->files, nfiles);
  sion_get_locations(sid, &ntasks, &blocks, &skip, &behind, &chunks, &ranks, &counts, &sizes);
  expect("sion_get_locations", "blocks", 2, blocks);
  for (int t = 0; t < ntasks && t < p->tasks; t++) {
    expect("sion_get_locations", "global rank", t, ranks[t]);
    expect("sion_get_locations", "chunk size", align_up(chunk_of(t), BLOCK), chunks[t]);
    expect("sion_get_locations", "blocks of a task", t == 0 ? 2 : 1, counts[t]);
    expect("sion_get_locations", "block size", t == 1 ? 115 : 50, sizes[t]);
  }
  sion_close(sid);
}

/* The tasks that each process reads, as digits; -1: the library chooses. */
static const struct mapped_reading {
  int processes;
  const char* lists[6];
  enum array_source arrays;
  const char* mode;
} readings[] = {
    {1, {"-1"}, MADE, "rb"},
    {1, {"4130"}, GIVEN, "rb,posix"},
    {2, {"-1", "-1"}, MADE, "rb,posix"},
    {2, {"", "2104"}, MADE, "rb"},
    {2, {"012", "210"}, NOT_WANTED, "rb"},
    {4, {"-1", "-1", "-1", "-1"}, MADE, "rb"},
    {4, {"4", "", "1", "01234"}, GIVEN, "rb"},
    {6, {"0", "1", "2", "3", "4", "43210"}, MADE, "rb"},
};

static void read_all(const struct placement* p, const struct mapped_reading* r) {
  const char* text = r->lists[run.rank];
  int ranks[TASKS];
  const int count = text[0] == '-' ? -1 : (int)strlen(text);
  for (int i = 0; i < count; i++) ranks[i] = text[i] - '0';
  read_tasks(p, count, ranks, r->arrays, r->mode);
}

/* Opens that must fail on two processes with one task each. The digits are file and local rank of each task.
 */
static const struct {
  const char *name, *mode;
  int files;
  const char *file, *lrank;
  int no_files;
} refusals[] = {
    {"no number of files", "wb", 1, "00", "01", 1},
    {"0 files", "wb", 0, "00", "01", 0},
    {"-1 files", "wb", -1, "00", "01", 0},
    {"a file that is not there", "wb", 1, "01", "00", 0},
    {"a file without local rank 0", "wb", 1, "00", "12", 0},
    {"a file without tasks", "wb", 2, "00", "01", 0},
    {"neither read nor write", "posix", 1, "00", "01", 0},
    {"no such multifile", "rb", 1, "00", "01", 0},
};

static void refuse(int i) {
  struct lists l = list_room();
  int files = refusals[i].files;
  sion_int32 block = BLOCK;
  l.count = 1;
  l.ranks[0] = run.rank;
  l.chunks[0] = 100;
  l.files[0] = refusals[i].file[run.rank] - '0';
  l.lranks[0] = refusals[i].lrank[run.rank] - '0';
  expect(
      "sion_paropen_mapped_mpi", "result", -1,
      sion_paropen_mapped_mpi((char*)path("refused"), refusals[i].mode, refusals[i].no_files ? NULL : &files,
                              run.comm, &l.count, &l.ranks, &l.chunks, &l.files, &l.lranks, &block, NULL));
  free_lists(&l);
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv, MPI_THREAD_SINGLE);
  for (int i = 0; i < COUNT(placements); i++) {
    const struct placement* p = &placements[i];
    if (p->processes > run.world_size) continue;
    if (begin_case(p->name, p->processes)) {
      write_placement(p);
      if (run.rank == 0) check_serially(p);
    }
    end_case(p->processes);
    for (int k = 0; k < COUNT(readings); k++) {
      if (begin_case(p->name, readings[k].processes)) read_all(p, &readings[k]);
      end_case(readings[k].processes);
    }
  }
  for (int i = 0; i < COUNT(refusals); i++) {
    if (begin_case(refusals[i].name, 2)) refuse(i);
    end_case(2);
  }
  return end_program();
}
