/* Parallel multifiles of processes, through the generic interface (process_group.h):
 *
 *   sion_conformance_processes write WAY < DESCRIPTION     writes a description (sion_conformance_script.h)
 *   sion_conformance_processes read WAY TASKS MODE FILE OUT
 *
 * WAY `own`: every process is a task. WAY `together`: the same, but reading uses sion_coll_fread. WAY
 * `mapped`: processes have several tasks, in writing those of the description; in reading, two processes
 * share all tasks. The stream of task r goes to OUT.r.
 *
 * If a process fails, the others wait for ever, so the caller must set a time limit. Exit status 0, or 1 with
 * a message. */
#include "process_group.h"
#include "sion_conformance_script.h"

enum { PIECE = 1000 };

static void die(struct group_view* all) {
  meet(all);
  _exit(0);
}

/* Computes the position of a task in the file of its color. Files are in the order of their first tasks. */
static void placement(const struct script* script, int rank, int* file, int* lrank, int* lsize) {
  int files = 0, number[MOST_TASKS], members[MOST_TASKS] = {0};
  const int split = script->numfiles > 0; /* otherwise by color */
  for (int task = 0; task < script->ntasks; task++) {
    number[task] = files;
    if (split) number[task] = task / (script->ntasks / script->numfiles);
    if (split && number[task] >= script->numfiles) number[task] = script->numfiles - 1;
    for (int other = 0; !split && other < task; other++)
      if (script->groups[other] == script->groups[task]) number[task] = number[other];
    if (number[task] == files) files++;
    if (task == rank) *lrank = members[number[task]];
    members[number[task]]++;
  }
  *file = number[rank];
  *lsize = members[number[rank]];
}

static void write_own(struct group_view* all, void* argument) {
  struct script* script = argument;
  const int rank = all->rank, aid = make_api();
  FILE* fileptr = NULL;
  int file, lrank, lsize, files = 0;
  for (int task = 0; task < script->ntasks; task++) {
    placement(script, task, &file, &lrank, &lsize);
    if (file >= files) files = file + 1;
  }
  placement(script, rank, &file, &lrank, &lsize);
  const int sid = sion_generic_paropen(aid, script->name, script->mode, &script->chunks[rank],
                                       &script->fsblksize, all, rank, script->ntasks, &file, &files, &lrank,
                                       &lsize, strcmp(script->via, "file") ? NULL : &fileptr, NULL);
  if (sid < 0) fail(0, "sion_generic_paropen failed");
  struct progress done = {script->written[rank], script->records[rank]};
  for (size_t i = 0; i < script->nops; i++) {
    const struct op* op = &script->ops[i];
    if (op->kind == OP_DIE) die(all);
    if (op->kind == OP_COLLWRITE || op->rank == rank) apply_op(script, op, rank, sid, &done);
  }
  if (sion_generic_parclose(sid) != SION_SUCCESS) fail(0, "sion_generic_parclose failed");
  sion_generic_free_api(aid);
}

static void write_mapped(struct group_view* all, void* argument) {
  struct script* script = argument;
  const int aid = make_api();
  int mine = 0;
  int *ranks = allocate(MOST_TASKS, sizeof *ranks), *files = allocate(MOST_TASKS, sizeof *files);
  int* lranks = allocate(MOST_TASKS, sizeof *lranks);
  sion_int64* chunks = allocate(MOST_TASKS, sizeof *chunks);
  struct progress done[MOST_TASKS];
  FILE* fileptr = NULL;
  for (int task = script->ntasks; task-- > 0;) {
    done[task] = (struct progress){script->written[task], script->records[task]};
    if (script->owners[task] != all->rank) continue;
    ranks[mine] = task;
    files[mine] = script->files[task];
    lranks[mine] = script->lranks[task];
    chunks[mine++] = script->chunks[task];
  }
  const int sid = sion_generic_paropen_mapped(
      aid, script->name, script->mode, &script->numfiles, all, all->rank, all->board->size, &mine, &ranks,
      &chunks, &files, &lranks, &script->fsblksize, strcmp(script->via, "file") ? NULL : &fileptr);
  if (sid < 0) fail(0, "sion_generic_paropen_mapped failed");
  for (size_t i = 0; i < script->nops; i++) {
    const struct op* op = &script->ops[i];
    if (op->kind == OP_COLLWRITE) fail(op->line, "collwrite needs a process for each task");
    if (op->kind == OP_DIE) die(all);
    if (script->owners[op->rank] != all->rank) continue;
    if (!sion_seek(sid, op->rank, SION_CURRENT_BLK, SION_CURRENT_POS))
      fail(op->line, "the task cannot be selected");
    apply_op(script, op, op->rank, sid, &done[op->rank]);
  }
  if (sion_generic_parclose_mapped(sid) != SION_SUCCESS) fail(0, "sion_generic_parclose_mapped failed");
  free(ranks);
  free(files);
  free(lranks);
  free(chunks);
  sion_generic_free_api(aid);
}

struct reading {
  char *mode, *file, *out;
  int tasks, together;
};

/* Writes the rest of the current task to OUT.task. With `together`, all tasks read as often as the task with
 * the most data. */
static void store(struct group_view* all, int sid, int task, const struct reading* reading) {
  char name[4200], data[PIECE];
  snprintf(name, sizeof name, "%s.%d", reading->out, task);
  FILE* target = fopen(name, "w");
  if (!target) stop("a stream cannot be stored");
  for (;;) {
    const int end = sion_feof(sid);
    int more[MOST_TASKS] = {end == 0};
    if (end < 0) stop("reading ended before the end");
    if (reading->together) {
      gatherr(more, more, all, _SION_INT32, 1, 0);
      for (int i = 1; i < all->board->size; i++) more[0] |= more[i];
      bcastr(more, all, _SION_INT32, 1, 0);
    }
    if (!more[0]) break;
    const size_t wanted = end ? 0 : PIECE, left = (size_t)sion_bytes_avail_in_block(sid);
    const size_t got =
        reading->together ? sion_coll_fread(data, 1, wanted, sid) : sion_fread(data, 1, wanted, sid);
    if (got > wanted || (got == 0 && wanted > 0 && left > 0)) stop("reading failed");
    if (fwrite(data, 1, got, target) != got) stop("a stream cannot be stored");
  }
  fclose(target);
}

static void read_own(struct group_view* all, void* argument) {
  const struct reading* reading = argument;
  const int aid = make_api();
  sion_int64 chunk = 0;
  sion_int32 block = 0;
  int file = 0, files = 0, lrank = all->rank, lsize = reading->tasks;
  const int sid = sion_generic_paropen(aid, reading->file, reading->mode, &chunk, &block, all, all->rank,
                                       reading->tasks, &file, &files, &lrank, &lsize, NULL, NULL);
  if (sid < 0) stop("sion_generic_paropen failed");
  store(all, sid, all->rank, reading);
  if (sion_generic_parclose(sid) != SION_SUCCESS) stop("sion_generic_parclose failed");
  sion_generic_free_api(aid);
}

static void read_mapped(struct group_view* all, void* argument) {
  const struct reading* reading = argument;
  const int aid = make_api();
  int nfiles = 0, mine = -1, *ranks = NULL, *files = NULL, *lranks = NULL;
  sion_int64* chunks = NULL;
  sion_int32 block = 0;
  const int sid =
      sion_generic_paropen_mapped(aid, reading->file, reading->mode, &nfiles, all, all->rank,
                                  all->board->size, &mine, &ranks, &chunks, &files, &lranks, &block, NULL);
  if (sid < 0) stop("sion_generic_paropen_mapped failed");
  for (int i = 0; i < mine; i++) {
    if (!sion_seek(sid, ranks[i], 0, 0)) stop("a task cannot be selected");
    store(all, sid, ranks[i], reading);
  }
  if (sion_generic_parclose_mapped(sid) != SION_SUCCESS) stop("sion_generic_parclose_mapped failed");
  free(ranks);
  free(chunks);
  free(files);
  free(lranks);
  sion_generic_free_api(aid);
}

int main(int argc, char** argv) {
  const int mapped = argc > 2 && !strcmp(argv[2], "mapped");
  if (argc == 3 && !strcmp(argv[1], "write")) {
    char* text = read_all(stdin);
    struct script script = parse_script(text);
    int processes = mapped ? 1 : script.ntasks;
    for (int task = 0; mapped && task < script.ntasks; task++)
      if (script.owners[task] >= processes) processes = script.owners[task] + 1;
    if (script.ntasks > MOST_TASKS) stop("1 to 16 tasks");
    const int failed = run_processes(processes, mapped ? write_mapped : write_own, &script);
    free_script(&script);
    free(text);
    return failed;
  }
  if (argc == 7 && !strcmp(argv[1], "read")) {
    struct reading reading = {argv[4], argv[5], argv[6], atoi(argv[3]), !strcmp(argv[2], "together")};
    return run_processes(mapped ? 2 : reading.tasks, mapped ? read_mapped : read_own, &reading);
  }
  stop("usage: sion_conformance_processes write WAY < DESCRIPTION | read WAY TASKS MODE FILE OUT");
}
