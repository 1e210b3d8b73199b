/* many_files write FILE MODE COUNT [unclosed]: one process writes a multifile of COUNT physical files with
 * one task each, and closes it. With "unclosed", it flushes and ends without a close.
 *
 * many_files read FILE COUNT: reads the multifile as a serial program, first with the tasks in ascending
 * order, then in descending order.
 *
 * The exit status is 0, or 1 with a message on failure. test_many_files.py runs the program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sion.h"
#include "sion_generic.h"

enum { bytes = 700 };

static void require(int holds, const char* what, int task) {
  if (holds) return;
  fprintf(stderr, "task %d: %s\n", task, what);
  exit(1);
}

static void fill(char* data, int task) {
  for (int i = 0; i < bytes; ++i) data[i] = (char)(task * 31 + i * 7);
}

static int same_group(void** local, void* global, int rank, int size, int lrank, int lsize, int file,
                      int files) {
  (void)rank, (void)size, (void)lrank, (void)lsize, (void)file, (void)files;
  *local = global;
  return 0;
}
static int keep_group(void* local) {
  (void)local;
  return 0;
}
static int wait_for_nobody(void* group) {
  (void)group;
  return 0;
}
static int bring_nothing(void* data, void* group, int type, int count, int root) {
  (void)data, (void)group, (void)type, (void)count, (void)root;
  return 0;
}
static int bring_all(void* in, void* out, void* group, int type, int count, int root) {
  (void)group, (void)root;
  memcpy(out, in, (size_t)count * (type == _SION_INT64 ? 8 : type == _SION_INT32 ? 4 : 1));
  return 0;
}
static int never(void* in, void* out, void* group, int type, int* counts, int count, int root) {
  (void)in, (void)out, (void)group, (void)type, (void)counts, (void)count, (void)root;
  return 1;
}

static int alone(void) {
  const int api = sion_generic_create_api((char*)"alone");
  sion_generic_register_create_local_commgroup_cb(api, same_group);
  sion_generic_register_free_local_commgroup_cb(api, keep_group);
  sion_generic_register_barrier_cb(api, wait_for_nobody);
  sion_generic_register_bcastr_cb(api, bring_nothing);
  sion_generic_register_gatherr_cb(api, bring_all);
  sion_generic_register_scatterr_cb(api, bring_all);
  sion_generic_register_gathervr_cb(api, never);
  sion_generic_register_scattervr_cb(api, never);
  return api;
}

static void write_all(char* path, const char* mode, int count, int unclosed) {
  int* const ranks = malloc((size_t)count * sizeof *ranks);
  int* const files = malloc((size_t)count * sizeof *files);
  int* const lranks = calloc((size_t)count, sizeof *lranks);
  sion_int64* const chunks = malloc((size_t)count * sizeof *chunks);
  require(ranks && files && lranks && chunks, "no memory", 0);
  for (int t = 0; t < count; ++t) {
    ranks[t] = files[t] = t;
    chunks[t] = 256;
  }
  int mine = count;
  int* r = ranks;
  int* f = files;
  int* l = lranks;
  sion_int64* c = chunks;
  sion_int32 block = 512;
  int group = 0;
  const int sid = sion_generic_paropen_mapped(alone(), path, mode, &count, &group, 0, 1, &mine, &r, &c, &f,
                                              &l, &block, NULL);
  require(sid >= 0, "cannot be opened for writing", 0);
  char data[bytes];
  for (int t = 0; t < count; ++t) {
    fill(data, t);
    require(sion_seek(sid, t, SION_CURRENT_BLK, SION_CURRENT_POS) == 1, "cannot be selected", t);
    require(sion_fwrite(data, 1, bytes, sid) == bytes, "cannot be written", t);
  }
  if (unclosed) {
    require(sion_flush(sid) == 1, "cannot be flushed", count - 1);
    _exit(0);
  }
  require(sion_generic_parclose_mapped(sid) == 1, "cannot be closed", 0);
  free(ranks);
  free(files);
  free(lranks);
  free(chunks);
}

static void expect(int sid, int task, int first, int count) {
  char data[bytes], expected[bytes];
  fill(expected, task);
  require(sion_seek(sid, task, SION_CURRENT_BLK, SION_CURRENT_POS) == 1, "cannot be selected", task);
  require(sion_fread(data, 1, (size_t)count, sid) == (size_t)count, "cannot be read", task);
  require(memcmp(data, expected + first, (size_t)count) == 0, "has other bytes than were written", task);
}

static void read_all(char* path, int count) {
  int tasks = 0, files = 0;
  sion_int32 block = 0;
  sion_int64* chunks = NULL;
  int* ranks = NULL;
  const int sid = sion_open(path, "rb", &tasks, &files, &chunks, &block, &ranks, NULL);
  require(sid >= 0, "cannot be opened for reading", 0);
  require(tasks == count && files == count, "other tasks or files than were written", 0);
  for (int t = 0; t < count; ++t) expect(sid, t, 0, bytes / 2);
  for (int t = count; t-- > 0;) expect(sid, t, bytes / 2, bytes - bytes / 2);
  require(sion_close(sid) == 1, "cannot be closed", 0);
  FILE* const own = fopen("/dev/null", "r");  // descriptors are left for the program
  require(own != NULL, "no descriptor for the program", 0);
  fclose(own);
}

int main(int argc, char** argv) {
  struct rlimit limit;
  if (argc >= 5 && strcmp(argv[1], "write") == 0) {
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    write_all(argv[2], argv[3], atoi(argv[4]), argc > 5);
  } else {
    require(argc == 4, "usage: many_files write FILE MODE COUNT [unclosed] | read FILE COUNT", 0);
    read_all(argv[2], atoi(argv[3]));
  }
  return 0;
}
