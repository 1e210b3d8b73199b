/* buddy.c: multifiles with buddy copies: names and contents of the copies, reading with lost or moved files,
 * with and without a FILE*, I/O information, and file checks. Tasks use relative names. Each group has its
 * own directory ("node g"), or all groups share one. */
#include "buddy_cases.h"

#include <errno.h>
#include <sys/stat.h>

static int group_of_task(const struct buddy_case* e, int task) { return e->group[task] - '0'; }

/* Returns the path of physical file `number` in the directory of `group`. `level` is ORIGINAL or that of a
 * copy. */
static const char* place(const struct buddy_case* e, int group, int level, int number) {
  static char names[4][1000];
  static int next;
  char *name = names[next++ % 4], base[900];
  snprintf(base, sizeof base, "%s/node%d/ck", run.directory, e->nodes ? group : 0);
  if (level >= 0) snprintf(base + strlen(base), 20, "_BUDDY_%02d", level);
  snprintf(name, sizeof names[0], "%s", file_name(base, number));
  return name;
}

static void copy_file(const char* from, const char* to) {
  char data[8192];
  size_t got;
  FILE *in = fopen(from, "r"), *out = fopen(to, "w");
  if (!expect("the test itself", "a file to copy", 1, in && out)) return;
  while ((got = fread(data, 1, sizeof data, in)) > 0) fwrite(data, 1, got, out);
  fclose(in);
  fclose(out);
}

static void lose(const struct buddy_case* e, const struct loss* l) {
  const char *from = place(e, l->from, l->level, l->number),
             *to = place(e, l->to % COPIED, l->level, l->number);
  if (l->level == EVERYTHING) {
    for (int level = ORIGINAL; level < e->levels; level++)
      for (int number = 0; number < e->groups; number++) unlink(place(e, l->from, level, number));
  } else if (l->to == GONE)
    expect("the test itself", "a file to lose", 0, unlink(from));
  else if (l->to == EMPTIED)
    expect("the test itself", "a file to empty", 0, truncate(from, 0));
  else if (l->to >= COPIED)
    copy_file(from, to);
  else
    expect("the test itself", "a file to move", 0, rename(from, to));
}

static void fresh(void) {
  for (int node = 0; node < 6; node++) {
    char name[800];
    snprintf(name, sizeof name, "%s/node%d", run.directory, node);
    if (mkdir(name, 0755) && errno != EEXIST) expect("the test itself", "a directory", 0, errno);
    for (int level = ORIGINAL; level < 2; level++)
      for (int number = 0; number < 6; number++)
        unlink(place(&(struct buddy_case){.nodes = 1}, node, level, number));
  }
}

/* Checks the lists of files by role: the roles of all files, and the writer role of the task's own file. */
static void check_info(int sid, const char* own, int write) {
  static const struct {
    const char* name;
    int roles, flag;
  } specs[] = {
      {"sion_get_io_info", 0, 0},
      {"collector, writer, no writer", SION_ROLE_COLLECTOR | SION_ROLE_WRITER | SION_ROLE_NOWRITER, 0},
      {"writer", SION_ROLE_WRITER, 0},
      {"writer, any flag", SION_ROLE_WRITER, 7}};
  for (int i = 0; i < COUNT(specs); i++) {
    sion_io_stat_t* info =
        specs[i].roles ? sion_get_io_info_by_spec(sid, specs[i].roles, specs[i].flag) : sion_get_io_info(sid);
    const int roles = specs[i].roles ? specs[i].roles : specs[1].roles;
    int found = 0;
    if (!expect(specs[i].name, "there is a list", 1, info != NULL)) continue;
    for (int k = 0; k < info->nfiles; k++) {
      expect(specs[i].name, "a role that was asked for", 1, (info->roles[k] & roles) != 0);
      if (!strcmp(info->names[k], own) && (info->roles[k] & SION_ROLE_WRITER)) {
        found++;
        if (write) expect(specs[i].name, "payload of the own file", 1, info->sizes[k] >= 170);
      }
    }
    if (write) expect(specs[i].name, "the own file as a writer", 1, found);
    expect("sion_free_io_info", "result", 1, sion_free_io_info(info));
  }
}

/* Opens, runs the rows and closes. `with_fp`: the open returns a FILE*. */
static void one_way(const struct buddy_case* e, MPI_Comm local, int write, const struct step* rows,
                    int with_fp, const char* table) {
  char mode[100], where[200], *newname = NULL;
  int files = write ? -1 : -7, rank = -7;
  sion_int64 chunk = 100;
  sion_int32 block = 64;
  struct stream s;
  FILE* fp = NULL;
  snprintf(mode, sizeof mode, "%s,%s", write ? "wb" : "rb", e->mode);
  snprintf(where, sizeof where, "%s, %s", table, with_fp ? "&fp" : "no fp");
  memset(&s, 0, sizeof s);
  s.task = run.rank;
  s.sid = sion_paropen_mpi("ck", mode, &files, run.comm, &local, &chunk, &block, &rank, with_fp ? &fp : NULL,
                           &newname);
  if (!e->opens && !write) {
    expect(where, "the open fails", -1, s.sid);
  } else if (expect(where, "a handle", 1, s.sid >= 0)) {
    expect(where, "files", e->groups, files);
    expect(where, "global rank", run.rank, rank);
    expect(where, "block size", 64, block);
    if (with_fp) expect(where, "a stream in ansi mode", !strstr(e->mode, "posix"), fp != NULL);
    run_steps(&s, rows, run.rank, where);
    check_info(s.sid, newname, write);
    free(newname);
  }
  if (s.sid >= 0) expect(where, "sion_parclose_mpi", 1, sion_parclose_mpi(s.sid));
  meet();
}

/* Checks the names of all files: the originals, and the copies in the directories of the groups that store
 * them. */
static void check_names(const struct buddy_case* e) {
  for (int number = 0; number < e->groups; number++) {
    expect("names", "the original", 1, _sion_file_stat_file(place(e, number, ORIGINAL, number)));
    for (int level = 0; level < e->levels; level++) {
      const int stored = (number - (level + 1) + e->groups) % e->groups;
      expect("names", "the copy at its group", 1, _sion_file_stat_file(place(e, stored, level, number)));
      for (int other = 0; other < e->groups && e->nodes; other++)
        if (other != stored)
          expect("names", "no copy elsewhere", 0, _sion_file_stat_file(place(e, other, level, number)));
    }
    expect("names", "no further level", 0, _sion_file_stat_file(place(e, number, e->levels, number)));
  }
}

/* Checks the content of a copy: a dummy for each task of the storing group, then the tasks of its own
 * group. */
static void check_copy(const struct buddy_case* e, int level, int number) {
  const int stored = (number - (level + 1) + e->groups) % e->groups;
  int ntasks = 0, nfiles = 0, blocks, wanted[12], n = 0, dummies = 0;
  sion_int64 skip, behind, *chunks, *ranks, *counts, *sizes;
  for (int t = 0; t < e->tasks; t++)
    if (group_of_task(e, t) == stored) wanted[n++] = -(t + 1), dummies++;
  for (int t = 0; t < e->tasks; t++)
    if (group_of_task(e, t) == number) wanted[n++] = t;
  const int sid = sion_open((char*)place(e, stored, level, number), "rb", &ntasks, &nfiles, NULL,
                            &(sion_int32){0}, NULL, NULL);
  if (!expect("copy", "a handle", 1, sid >= 0)) return;
  sion_get_locations(sid, &ntasks, &blocks, &skip, &behind, &chunks, &ranks, &counts, &sizes);
  if (expect("copy", "tasks", n, ntasks))
    for (int t = 0; t < n; t++) {
      expect("copy", "global rank", wanted[t], ranks[t]);
      expect("copy", "blocks", t < dummies ? 1 : 2, counts[t]);
      expect("copy", "bytes", t < dummies ? 0 : 90, sizes[t]);
      if (t < dummies) expect("copy", "chunk size of a dummy", 0, chunks[t]);
    }
  sion_close(sid);
}

static void run_case(const struct buddy_case* e) {
  char directory[800];
  MPI_Comm local;
  const int me = group_of_task(e, run.rank);
  MPI_Comm_split(run.comm, me, run.rank, &local);
  snprintf(directory, sizeof directory, "%s/node%d", run.directory, e->nodes ? me : 0);
  for (int written_with_fp = 0; written_with_fp < 2; written_with_fp++) {
    if (run.rank == 0) fresh();
    meet();
    if (!expect("the test itself", "a directory", 0, chdir(directory))) return;
    one_way(e, local, 1, writing, written_with_fp, "writing");
    if (run.rank == 0) {
      check_names(e);
      for (int level = 0; level < e->levels; level++)
        for (int number = 1; number < e->groups; number++) check_copy(e, level, number);
      for (int i = 0; i < COUNT(e->losses) && (e->losses[i].from || e->losses[i].level || e->losses[i].to);
           i++)
        lose(e, &e->losses[i]);
    }
    meet();
    if (e->nodes == 2 && run.rank % 2 && chdir(path("node5")))
      failed("the test itself", "directory", "0", "an error");
    /* Reading by the stream comes first, because the opens may recreate lost files. */
    if (written_with_fp && e->nodes != 2)
      one_way(e, local, 0, strstr(e->mode, "posix") ? alone : by_stream, 1, "reading by the stream");
    /* With nodes == 2, odd tasks cannot see the files, so only collective reading is possible. It works with
     * SION_COLLSIZE and with the words for buddy copies alone. */
    for (int turn = 0; turn < (e->nodes == 2 ? 2 : 1); turn++) {
      const int collectors = e->nodes == 2 && turn == written_with_fp;
      environment("SION_COLLSIZE", collectors ? "2" : NULL);
      one_way(e, local, 0, together, 0, collectors ? "reading, SION_COLLSIZE=2" : "collective reading");
      environment("SION_COLLSIZE", NULL);
    }
    if (e->nodes != 2) one_way(e, local, 0, alone, 0, "individual reading");
  }
  if (chdir(run.directory)) failed("the test itself", "directory", "0", "an error");
  MPI_Comm_free(&local);
}

/* File checks: the mode, the lost files of a set of two groups written with `buddy`, and whether the set can
 * be opened. */
static const struct {
  const char *name, *mode;
  int lost_number, lost_copy, result;
} file_checks[] = {
    {"file check", "rb", -1, -1, 1},
    {"file check, a file is lost", "rb", 1, -1, 0},
    {"file check, with copies", "rb,buddy", 1, -1, 1},
    {"file check, all is lost of a file", "rb,buddy", 1, 1, 0},
};

static void check_file(int i) {
  static const struct buddy_case two = {"written for a check", 2, 2, "01", 0, 1, "buddy", {NOTHING}, 1};
  MPI_Comm local;
  MPI_Comm_split(run.comm, run.rank, 0, &local);
  if (run.rank == 0) fresh();
  meet();
  if (!expect("the test itself", "a directory", 0, chdir(path("node0")))) return;
  one_way(&two, local, 1, writing, 0, "writing");
  if (run.rank == 0 && file_checks[i].lost_number >= 0)
    unlink(place(&two, 0, ORIGINAL, file_checks[i].lost_number));
  if (run.rank == 0 && file_checks[i].lost_copy >= 0) unlink(place(&two, 0, 0, file_checks[i].lost_copy));
  meet();
  sion_file_check_par_args_mpi* args =
      sion_file_check_par_args_init_mpi(file_checks[i].mode, run.comm, 2, local);
  if (expect("sion_file_check_par_args_init_mpi", "arguments", 1, args != NULL)) {
    expect("sion_file_check_par_cb_mpi", "result", file_checks[i].result,
           sion_file_check_par_cb_mpi("ck", args));
    expect("sion_file_check_par_cb_mpi", "no such file", 0, sion_file_check_par_cb_mpi("missing", args));
    expect("sion_file_check_par_args_free_mpi", "result", 1, sion_file_check_par_args_free_mpi(args));
  }
  expect("sion_file_check_par_args_free_mpi", "NULL", 1, sion_file_check_par_args_free_mpi(NULL));
  if (chdir(run.directory)) failed("the test itself", "directory", "0", "an error");
  MPI_Comm_free(&local);
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv, MPI_THREAD_SINGLE);
  for (int i = 0; i < COUNT(cases); i++) {
    if (begin_case(cases[i].name, cases[i].tasks)) run_case(&cases[i]);
    end_case(cases[i].tasks);
  }
  for (int i = 0; i < COUNT(file_checks); i++) {
    if (begin_case(file_checks[i].name, 2)) check_file(i);
    end_case(2);
  }
  return end_program();
}
