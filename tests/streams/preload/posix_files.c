/* posix_files: programs for tests and measurements of capturing.
 *
 * - make DIR PROCESSES FILES: each process creates FILES files DIR/cap.P.I of 1 KiB; prints the seconds
 * - remove DIR PROCESSES FILES: removes them; prints the seconds
 * - log FILE: appends lines "N\n" with one write each until it is killed; prints each N that was written
 * - calls FILE COUNT: queries the position in FILE and access to it, in COUNT pairs of runs; prints the
 *   additional cost of a call in nanoseconds
 * - steps: creates files cap.0 to cap.5 and changes the first four, in ten steps. Prints "done STEP" for each
 *   step when all its calls have succeeded, or "STEP errno". Before that, prints "lacks FILE POSITION errno"
 *   for a failed write, or "closed FILE POSITION errno" if the close succeeded nevertheless
 * - steps repeating: like steps, but repeats a failed write once
 * - small FILE COUNT: COUNT calls of fwrite with 64 bytes; prints nanoseconds per call */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void make(const char* directory, int process, int files) {
  char block[1024], name[4096];
  for (int i = 0; i < files; ++i) {
    memset(block, 'a' + (process * 31 + i) % 26, sizeof block);
    snprintf(name, sizeof name, "%s/cap.%d.%d", directory, process, i);
    const int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (fd < 0 || write(fd, block, sizeof block) != (ssize_t)sizeof block || close(fd) != 0) {
      perror(name);
      _exit(1);
    }
  }
}

static void drop(const char* directory, int process, int files) {
  char name[4096];
  for (int i = 0; i < files; ++i) {
    snprintf(name, sizeof name, "%s/cap.%d.%d", directory, process, i);
    if (unlink(name) != 0) {
      perror(name);
      _exit(1);
    }
  }
}

static int in_processes(void (*work)(const char*, int, int), char** words) {
  const int processes = atoi(words[1]), files = atoi(words[2]);
  const double begin = seconds();
  for (int p = 0; p < processes; ++p) {
    if (fork() == 0) {
      work(words[0], p, files);
      _exit(0);
    }
  }
  int bad = 0;
  for (int p = 0, status; p < processes; ++p) bad |= wait(&status) < 0 || status != 0;
  printf("%.6f\n", seconds() - begin);
  return bad;
}

static int keep_log(const char* name) {
  const int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0644);
  for (long n = 0; fd >= 0; ++n) {
    char line[24];
    const int size = snprintf(line, sizeof line, "%ld\n", n);
    if (write(fd, line, (size_t)size) != size || write(1, line, (size_t)size) != size) return 1;
  }
  return 1;
}

static int by_size(const void* a, const void* b) {
  const double one = *(const double*)a, other = *(const double*)b;
  return (one > other) - (one < other);
}

/* Returns the additional cost of a call on a file in nanoseconds. Compares the functions that programs
 * call, which a preload may replace, with the C library's own. The result is the median of `count` pairs
 * of runs, because the time of a single call into the kernel varies by far more. */
static int calls(const char* name, long count) {
  enum { in_a_run = 1000 };
  typedef int (*Access)(const char*, int);
  typedef off_t (*Seek)(int, off_t, int);
  void* const library = dlopen("libc.so.6", RTLD_LAZY);
  Access accesses[] = {access, 0};
  Seek seeks[] = {lseek, 0};
  *(void**)&accesses[1] = dlsym(library, "access");
  *(void**)&seeks[1] = dlsym(library, "lseek64");
  double* const more = calloc((size_t)count, sizeof *more);
  const int fd = open(name, O_WRONLY | O_CREAT, 0644);
  for (long pair = 0; pair < count; ++pair)
    for (int side = 0; side < 2; ++side) {
      const int which = (int)(pair % 2) ^ side;
      const double begin = seconds();
      for (int i = 0; i < in_a_run; ++i)
        if (seeks[which](fd, 0, SEEK_CUR) != 0 || accesses[which](name, F_OK) != 0) return 1;
      const double one = (seconds() - begin) * 1e9 / in_a_run / 2;
      more[pair] += which == 0 ? one : -one;
    }
  qsort(more, (size_t)count, sizeof *more, by_size);
  printf("%.2f\n", more[count / 2]);
  return 0;
}

/* Prints without buffers, because the process may be killed at the next call. */
static void tell(const char* step, int good) {
  char line[64];
  const int size = good ? snprintf(line, sizeof line, "done %s\n", step)
                        : snprintf(line, sizeof line, "%s %d\n", step, errno);
  if (write(1, line, (size_t)size) != size) _exit(1);
}

/* Writes all data. Repeats a failed write once if `repeats` is set. */
static int write_whole(int fd, const char* data, size_t size, int repeats) {
  while (size > 0) {
    const ssize_t n = write(fd, data, size);
    if (n < 0 && !repeats--) return 0;
    if (n < 0) continue;
    data += n;
    size -= (size_t)n;
  }
  return 1;
}

/* Closes a file after a failed write. Prints whether the close failed, too, or succeeded nevertheless. */
static void give_up(int fd, const char* name) {
  const int error = errno;
  const long at = (long)lseek(fd, 0, SEEK_CUR);
  const int lies = close(fd) == 0;
  errno = error;
  char step[48];
  snprintf(step, sizeof step, lies ? "closed %s %ld" : "lacks %s %ld", name, at);
  tell(step, 0);
  errno = error;
}

/* Writes 71,300 letters in three writes. */
static int fill(const char* name, int flags, char letter, int repeats) {
  static char block[70000];
  const size_t sizes[] = {1000, sizeof block, 300};
  memset(block, letter, sizeof block);
  const int fd = open(name, O_WRONLY | flags, 0644);
  if (fd < 0) return 0;
  for (int i = 0; i < 3; ++i)
    if (!write_whole(fd, block, sizes[i], repeats)) {
      give_up(fd, name);
      return 0;
    }
  if (letter % 2 == 0 && fsync(fd) != 0) return 0;
  return close(fd) == 0;
}

static int steps(int repeats) {
  char name[] = "cap.0", step[] = "make 0";
  for (char i = 0; i < 6; ++i) {
    name[4] = step[5] = (char)('0' + i);
    tell(step, fill(name, O_CREAT | O_EXCL, (char)('a' + i), repeats));
  }
  tell("append 0", fill("cap.0", O_APPEND, 'x', repeats));
  tell("rename 1", rename("cap.1", "cap.new") == 0);
  tell("remove 2", unlink("cap.2") == 0);
  tell("cut 3", truncate("cap.3", 10) == 0);
  return 0;
}

static int small(const char* name, long count) {
  char record[64];
  memset(record, 'r', sizeof record);
  FILE* const file = fopen(name, "w");
  const double begin = seconds();
  for (long i = 0; i < count; ++i)
    if (!file || fwrite(record, sizeof record, 1, file) != 1) return 1;
  if (fclose(file) != 0) return 1;
  printf("%.2f\n", (seconds() - begin) * 1e9 / (double)count);
  return 0;
}

int main(int argc, char** argv) {
  if (argc == 5 && strcmp(argv[1], "make") == 0) return in_processes(make, argv + 2);
  if (argc == 5 && strcmp(argv[1], "remove") == 0) return in_processes(drop, argv + 2);
  if (argc == 3 && strcmp(argv[1], "log") == 0) return keep_log(argv[2]);
  if (argc == 4 && strcmp(argv[1], "calls") == 0) return calls(argv[2], atol(argv[3]));
  if (argc == 2 && strcmp(argv[1], "steps") == 0) return steps(0);
  if (argc == 3 && strcmp(argv[1], "steps") == 0) return steps(strcmp(argv[2], "repeating") == 0);
  if (argc == 4 && strcmp(argv[1], "small") == 0) return small(argv[2], atol(argv[3]));
  return 2;
}
