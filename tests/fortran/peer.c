/* The C side of tests that exchange a file between C and Fortran. It writes and checks the same file as the
 * Fortran side. Task t has the 10 integers 100*t+1..100*t+10, 10 doubles half as large, and "Sheaf in
 * Fortran". */
#include <stdlib.h>
#include <string.h>

#include "sion.h"

enum { COUNT = 10, TASKS = 2 };
static const char text[] = "Sheaf in Fortran";

struct content {
  int integers[COUNT];
  double doubles[COUNT];
};

static void fill(struct content* c, int task) {
  for (int i = 0; i < COUNT; ++i) {
    c->integers[i] = 100 * task + i + 1;
    c->doubles[i] = c->integers[i] / 2.0;
  }
}

static int write_task(int sid, int task) {
  struct content c;
  fill(&c, task);
  return sion_seek(sid, task, SION_CURRENT_BLK, SION_CURRENT_POS) == SION_SUCCESS &&
         sion_fwrite(c.integers, sizeof(int), COUNT, sid) == COUNT &&
         sion_fwrite(c.doubles, sizeof(double), COUNT, sid) == COUNT &&
         sion_fwrite(text, 1, strlen(text), sid) == strlen(text);
}

static int check_task(int sid, int task) {
  struct content want, got;
  char read_text[sizeof text] = "";
  fill(&want, task);
  return sion_seek(sid, task, 0, 0) == SION_SUCCESS &&
         sion_fread(got.integers, sizeof(int), COUNT, sid) == COUNT &&
         sion_fread(got.doubles, sizeof(double), COUNT, sid) == COUNT &&
         sion_fread(read_text, 1, strlen(text), sid) == strlen(text) &&
         memcmp(got.integers, want.integers, sizeof got.integers) == 0 &&
         memcmp(got.doubles, want.doubles, sizeof got.doubles) == 0 && strcmp(text, read_text) == 0 &&
         sion_feof(sid) == 1;
}

/* Writes the file. Returns 1 on success. */
int peer_write(char* name) {
  int ntasks = TASKS, nfiles = 1, ranks[TASKS] = {0, 1}, *globalranks = ranks;
  sion_int64 sizes[TASKS] = {1000, 1000}, *chunksizes = sizes;
  sion_int32 fsblksize = 512;
  int sid = sion_open(name, "wb", &ntasks, &nfiles, &chunksizes, &fsblksize, &globalranks, NULL);
  int good = sid >= 0;
  for (int task = 0; good && task < TASKS; ++task) good = write_task(sid, task);
  return sion_close(sid) == SION_SUCCESS && good;
}

/* Returns 1 if the file has the expected content of `tasks` tasks. */
int peer_check(char* name, int tasks) {
  int ntasks = 0;
  int sid = sion_open(name, "rb", &ntasks, NULL, NULL, NULL, NULL, NULL);
  int good = sid >= 0 && ntasks == tasks;
  for (int task = 0; good && task < tasks; ++task) good = check_task(sid, task);
  return sion_close(sid) == SION_SUCCESS && good;
}
