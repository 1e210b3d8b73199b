/* settings.c: tests environment variables, and values that the library chooses. */
#include "steps.h"

#include <sys/stat.h>

static const struct step plain[] = {
    {ALL, WRITE, 1, 60, 0, 60, 0},   {ALL, WRITTEN, 0, 0, 0, 60, 0}, {ALL, WRITE, 3, 10, 0, 10, 0},
    {ALL, AT, 0, 90, SKIP, 1, 0},    {ALL, WRITE, 1, 60, 0, 60, 0},  {ALL, AT, 1, 60, SKIP, 1, 0},
    {ALL, OFFSET, 1, 60, 0, 0, 0},   {ALL, FLUSH, 0, 0, 0, 1, 0},    {ALL, WRITE, 1, 5, 0, 5, 0},
    {ALL, WRITTEN, 0, 0, 0, 155, 0}, {0, END, 0, 0, 0, 0, 0}};
static const struct step plain_back[] = {{ALL, AVAIL, 0, 0, 0, 90, 0}, {ALL, READ, 1, 90, 0, 90, 0},
                                         {ALL, FEOF, 0, 0, 0, 0, 0},   {ALL, READ, 1, 65, 90, 65, 0},
                                         {ALL, FEOF, 0, 0, 0, 1, 0},   {0, END, 0, 0, 0, 0, 0}};
static const struct step keys[] = {
    {ALL, WKEY, 7, 1, 100, 100, 0}, {ALL, WKEY, 8, 5, 4, 4, 0}, {0, END, 0, 0, 0, 0, 0}};
static const struct step keys_back[] = {
    {ALL, RKEY, 8, 5, 4, 4, 0}, {ALL, RKEY, 7, 1, 100, 100, 0}, {0, END, 0, 0, 0, 0, 0}};

static const struct setting {
  const char *name, *value, *name2, *value2; /* names and values of variables; name2 may be NULL */
  const char* mode;
  int keyval, hints; /* expected sion_get_keyval_mode() and sion_using_hints() */
} settings[] = {
    {"SION_BUFFERSIZE", "50", NULL, NULL, "wb", SION_KEYVAL_NONE, 0},
    {"SION_BUFFERSIZE", "100000", NULL, NULL, "wb,posix", SION_KEYVAL_NONE, 0},
    {"SION_BUFFERSIZE", "-1", NULL, NULL, "wb", SION_KEYVAL_NONE, 0},
    {"SION_BUFFERSIZE", "0", NULL, NULL, "wb", SION_KEYVAL_NONE, 0},
    {"SION_BUFFERSIZE", "50", NULL, NULL, "wb,keyval", SION_KEYVAL_INLINE, 0},
    {"SION_CACHESIZE", "1000", NULL, NULL, "wb", SION_KEYVAL_NONE, 0},
    {"SION_KEYVALUE_MODE", "inline", NULL, NULL, "wb", SION_KEYVAL_INLINE, 0},
    {"SION_KEYVALUE_MODE", "is inline, too", NULL, NULL, "wb,posix", SION_KEYVAL_INLINE, 0},
    {"SION_KEYVALUE_MODE", "none", NULL, NULL, "wb", SION_KEYVAL_NONE, 0},
    {"SION_KEYVALUE_MODE", "none", NULL, NULL, "wb,keyval", SION_KEYVAL_INLINE, 0},
    {"SION_HINTS", "1", "SION_HINT_TYPE_LINUX", "1", "wb", SION_KEYVAL_NONE, 1},
    {"SION_HINTS", "1", "SION_HINT_TYPE_GPFS", "1", "wb", SION_KEYVAL_NONE, 1},
    {"SION_HINTS", "0", "SION_HINT_TYPE_LINUX", "1", "wb", SION_KEYVAL_NONE, 0},
    {"SION_ERROR_MSG_RANK", "0", NULL, NULL, "wb", SION_KEYVAL_NONE, 0},
};

static void one_way(const struct setting* e, const char* mode) {
  const int write = mode[0] == 'w', keyval = e->keyval == SION_KEYVAL_INLINE;
  const long long chunks[] = {128, 128, 128, 128};
  struct stream s;
  int files = 1, rank = 0;
  sion_int64 chunk = 100;
  sion_int32 block = 64;
  MPI_Comm nobody = MPI_COMM_NULL;
  memset(&s, 0, sizeof s);
  lay_out(&s, chunks, run.size, 64);
  s.task = run.rank;
  s.sid =
      sion_paropen_mpi(path("settings"), mode, &files, run.comm, &nobody, &chunk, &block, &rank, NULL, NULL);
  if (!expect("sion_paropen_mpi", "a handle", 1, s.sid >= 0)) return;
  expect("sion_get_keyval_mode", "mode", e->keyval, sion_get_keyval_mode(s.sid));
  if (write) expect("sion_using_hints", "result", e->hints, sion_using_hints(s.sid));
  run_steps(&s, write ? (keyval ? keys : plain) : keyval ? keys_back : plain_back, run.rank, mode);
  expect("sion_parclose_mpi", "result", 1, sion_parclose_mpi(s.sid));
  meet();
}

static void run_setting(const struct setting* e) {
  environment(e->name, e->value);
  if (e->name2) environment(e->name2, e->value2);
  one_way(e, e->mode);
  environment(e->name, NULL);
  if (e->name2) environment(e->name2, NULL);
  one_way(e, "rb");
}

/* Cases in which the library chooses the block size. It must choose the block size of the file system, or 2
 * MiB if the former exceeds 32 MiB (docs/format.md, 4.3). */
static const struct {
  const char* name;
  int tasks, files, given, serial;
} automatic[] = {{"block size, one task", 1, 1, -1, 0},
                 {"block size, two files", 4, 2, -1, 0},
                 {"block size, serial", 1, 1, -1, 1},
                 {"block size, serial, 0", 1, 1, 0, 1}};

static void choose_block(int i) {
  struct stat file;
  int files = automatic[i].files, rank = 0, ntasks = 1, *ranks = &rank;
  sion_int64 chunk = 100, *chunks = &chunk, stored = -7;
  sion_int32 block = automatic[i].given, read_block = -7;
  MPI_Comm nobody = MPI_COMM_NULL;
  char* name = (char*)path("automatic");
  int sid = automatic[i].serial
                ? sion_open(name, "wb", &ntasks, &files, &chunks, &block, &ranks, NULL)
                : sion_paropen_mpi(name, "wb", &files, run.comm, &nobody, &chunk, &block, &rank, NULL, NULL);
  if (!expect("open", "a handle", 1, sid >= 0)) return;
  if (!expect("stat", "a file", 0, stat(name, &file))) return;
  const long long wanted =
      file.st_blksize > SION_MAX_FSBLOCKSIZE ? SION_DEFAULT_FSBLOCKSIZE : file.st_blksize;
  expect("open to write", "block size", wanted, block);
  expect("open to write", "chunk size is not changed", 100, chunk);
  expect("sion_ensure_free_space", "the aligned chunk", 1, sion_ensure_free_space(sid, wanted));
  expect("sion_ensure_free_space", "more than that", 0, sion_ensure_free_space(sid, wanted + 1));
  expect("close", "result", 1, automatic[i].serial ? sion_close(sid) : sion_parclose_mpi(sid));
  sid = sion_open_rank(name, "rb", &stored, &read_block, &rank, NULL);
  expect("open to read", "chunk size", wanted, stored);
  expect("open to read", "block size", wanted, read_block);
  expect("sion_close", "result", 1, sion_close(sid));
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv, MPI_THREAD_SINGLE);
  for (int i = 0; i < COUNT(settings); i++) {
    for (int tasks = 1; tasks <= 4; tasks *= 2) {
      if (begin_case(settings[i].name, tasks)) run_setting(&settings[i]);
      end_case(tasks);
    }
  }
  for (int i = 0; i < COUNT(automatic); i++) {
    if (begin_case(automatic[i].name, automatic[i].tasks)) choose_block(i);
    end_case(automatic[i].tasks);
  }
  return end_program();
}
