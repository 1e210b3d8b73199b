// no_memory FILE: checks that no signal kills a program when 1, 3 or all of its allocations fail, starting at
// each allocation in turn. The programs write a multifile, from the first thread or a second one, and close
// it or leave it open. If a signal killed a program, prints the case and ends with exit code 1.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sheaf.h"
#include "sion.h"

extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t count, size_t bytes);
extern void* __libc_realloc(void* memory, size_t bytes);

static long before = -1;  // allocations before the first failing one; negative: none fails
static long failures;
static long failed;

static int fails(void) {
  if (before < 0 || failed >= failures) return 0;
  if (__atomic_fetch_sub(&before, 1, __ATOMIC_SEQ_CST) > 0) return 0;
  before = 0;
  ++failed;
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t bytes) { return fails() ? NULL : __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) { return fails() ? NULL : __libc_calloc(count, bytes); }
void* realloc(void* memory, size_t bytes) { return fails() ? NULL : __libc_realloc(memory, bytes); }

static const char* path;
static int closes;

static void* write_file(void* unused) {
  static char data[9000];
  int tasks = 1, files = 1, ranks[1] = {0}, *globalranks = ranks, block = 512;
  sion_int64 chunks[1] = {1000}, *chunksizes = chunks;
  const int sid = sion_open((char*)path, "wb", &tasks, &files, &chunksizes, &block, &globalranks, NULL);
  if (sid < 0) return unused;
  sion_fwrite(data, 1, sizeof data, sid);
  if (closes) sion_close(sid);
  return unused;
}

static void* begin_and_write(void* first) {
  before = *(const long*)first;
  return write_file(NULL);
}

static void run(long first, int in_thread) {
  pthread_t thread;
  if (in_thread) {
    pthread_create(&thread, NULL, begin_and_write, &first);
    pthread_join(thread, NULL);
  } else {
    begin_and_write(&first);
  }
  exit(failed > 0);  // runs the exit handlers of the library
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  path = argv[1];
  setenv("SHEAF_LEASE_TIMES", "60000,50", 1);
  sheaf_print_errors(0);
  const struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  static const long in_a_row[] = {1, 3, 1L << 40};
  int wrong = 0;
  for (int way = 0; way < 12; ++way) {
    int had_failures = 1;
    for (long first = 0; had_failures; ++first) {
      const pid_t child = fork();
      if (child == 0) {
        failures = in_a_row[way % 3];
        closes = way / 3 % 2;
        run(first, way / 6);
      }
      int status = 0;
      waitpid(child, &status, 0);
      if (WIFSIGNALED(status)) {
        printf("%ld allocations fail from number %ld on, %s, in %s: signal %d\n", in_a_row[way % 3], first,
               way / 3 % 2 ? "closed" : "left open", way / 6 ? "a thread" : "the first thread",
               WTERMSIG(status));
        ++wrong;
      }
      had_failures = WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
      if (wrong > 20 || first > 100000) return 1;
      unlink(path);
      char name[4096];
      snprintf(name, sizeof name, "%s.lease", path);
      unlink(name);
      snprintf(name, sizeof name, "%s.journal", path);
      unlink(name);
    }
  }
  return wrong > 0;
}
