/* failing_calls: a library for LD_PRELOAD. It lets calls on files below the directory FAILING_DIR fail in
 * ways in which the operating system can fail:
 *
 * FAILING_SHORT=1          every transfer is first interrupted (EINTR) and then short;
 *                          with FAILING_AT=K, only from the K-th call on
 * FAILING_AT=K[,L...]      the K-th call (from 0), the L-th, ... fail with the error number FAILING_ERRNO;
 *                          with FAILING_ON=1 all later calls fail too
 * FAILING_NAMES=1          only calls that create, rename or remove a name fail
 * FAILING_SIGNAL=N         the process gets this signal instead of the K-th call
 * FAILING_CLOCK=S          from the K-th call on, the clock is S seconds back; no call fails
 * FAILING_SLOW_SYNC=S      every fsync takes S seconds; with FAILING_SLOW_WHILE=PATH, only while PATH exists
 * FAILING_COUNT=PATH       the number of calls is written to PATH at exit
 *
 * Files are identified by the descriptors that open() and openat() returned. A program can also set the
 * failures itself (failing_calls.h). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "failing_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MOST_DESCRIPTORS 4096
static atomic_bool watched[MOST_DESCRIPTORS];
static atomic_long calls, transfers;
static struct failing_calls_plan plan;
static char directory[4096];
static const char* count_path;
static int slow_sync;
static const char* slow_while;

static int number_in(const char* name) {
  const char* const text = getenv(name);
  return text ? atoi(text) : 0;
}

__attribute__((constructor)) static void begin(void) {
  struct failing_calls_plan first = {.directory = getenv("FAILING_DIR"), .error = EIO};
  for (const char* text = getenv("FAILING_AT"); text && first.count < failing_calls_most; ++text) {
    first.at[first.count++] = atol(text);
    text = strchr(text, ',');
    if (!text) break;
  }
  if (getenv("FAILING_ERRNO")) first.error = number_in("FAILING_ERRNO");
  first.from_then_on = getenv("FAILING_ON") != NULL;
  first.shortens = getenv("FAILING_SHORT") != NULL;
  first.only_names = getenv("FAILING_NAMES") != NULL;
  first.kills_with = number_in("FAILING_SIGNAL");
  first.clock_set_back = number_in("FAILING_CLOCK");
  slow_sync = number_in("FAILING_SLOW_SYNC");
  slow_while = getenv("FAILING_SLOW_WHILE");
  count_path = getenv("FAILING_COUNT");
  failing_calls_begin(&first);
}

__attribute__((destructor)) static void end(void) {
  if (!count_path) return;
  FILE* file = fopen(count_path, "w");
  if (!file) return;
  fprintf(file, "%ld\n", atomic_load(&calls));
  fclose(file);
}

static int below(const char* path) {
  return directory[0] && path && strncmp(path, directory, strlen(directory)) == 0;
}
static int known(int fd) { return fd >= 0 && fd < MOST_DESCRIPTORS && atomic_load(&watched[fd]); }

void failing_calls_begin(const struct failing_calls_plan* next) {
  static const struct failing_calls_plan nothing;
  plan = next ? *next : nothing;
  snprintf(directory, sizeof directory, "%s", plan.directory ? plan.directory : "");
  atomic_store(&calls, 0);
}
long failing_calls_count(void) { return atomic_load(&calls); }

/* Returns whether the first call of the plan has been reached. */
static int reached(void) { return plan.count == 0 || atomic_load(&calls) > plan.at[0]; }

/* Counts a call. Returns 1 and sets errno if the call must fail. `names` is 1 if the call creates, renames or
 * removes a name. */
static int fails_as(int names) {
  const long number = atomic_fetch_add(&calls, 1);
  if (plan.count == 0 || plan.shortens || plan.clock_set_back) return 0;
  if (plan.kills_with) {
    if (number == plan.at[0]) kill(getpid(), plan.kills_with);
    return 0;
  }
  if (plan.only_names && !names) return 0;
  int fails = plan.from_then_on && number >= plan.at[0];
  for (int i = 0; i < plan.count; ++i) fails |= number == plan.at[i];
  if (!fails) return 0;
  errno = plan.error;
  return 1;
}
static int fails(void) { return fails_as(0); }

/* Returns how many of `count` bytes a transfer may move, or 0 if the transfer must fail with EINTR. */
static size_t allowed(size_t count) {
  if (!plan.shortens || count == 0 || !reached()) return count;
  if (atomic_fetch_add(&transfers, 1) % 2 == 0) return 0;
  return count / 3 + 1 < count ? count / 3 + 1 : count;
}

/* Defines `real` as a pointer to the C library's function `name`. */
#define REAL(name)               \
  static __typeof__(&name) real; \
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, #name)

static int makes(int base, const char* path, int flags) {
  struct stat found;
  return (flags & O_CREAT) && fstatat(base, path, &found, 0) != 0;
}

static int watch(int fd) {
  if (fd >= 0 && fd < MOST_DESCRIPTORS) atomic_store(&watched[fd], 1);
  return fd;
}

int open64(const char* path, int flags, ...) {
  REAL(open64);
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  if (!below(path)) return real(path, flags, mode);
  return fails_as(makes(AT_FDCWD, path, flags)) ? -1 : watch(real(path, flags, mode));
}

int openat64(int base, const char* path, int flags, ...) {
  REAL(openat64);
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  if (!below(path)) return real(base, path, flags, mode);
  return fails_as(makes(base, path, flags)) ? -1 : watch(real(base, path, flags, mode));
}

int close(int fd) {
  REAL(close);
  const int watches = known(fd);
  if (watches) atomic_store(&watched[fd], 0);
  const int failing = watches && fails();
  const int error = errno;
  const int result = real(fd);
  if (!failing) return result;
  errno = error;
  return -1;
}

#define TRANSFER(fd, count)      \
  size_t n = (count);            \
  if (known(fd)) {               \
    if (fails()) return -1;      \
    n = allowed(n);              \
    if (n == 0 && (count) > 0) { \
      errno = EINTR;             \
      return -1;                 \
    }                            \
  }

ssize_t pread64(int fd, void* data, size_t count, off64_t at) {
  REAL(pread64);
  TRANSFER(fd, count)
  return real(fd, data, n, at);
}

ssize_t pwrite64(int fd, const void* data, size_t count, off64_t at) {
  REAL(pwrite64);
  TRANSFER(fd, count)
  return real(fd, data, n, at);
}

ssize_t pwritev64(int fd, const struct iovec* parts, int many, off64_t at) {
  REAL(pwritev64);
  if (!known(fd) || many == 0) return real(fd, parts, many, at);
  /* A short transfer moves only the start of the first part that is not empty. */
  int first = 0;
  while (first + 1 < many && parts[first].iov_len == 0) ++first;
  TRANSFER(fd, parts[first].iov_len)
  return plan.shortens ? syscall(SYS_pwrite64, fd, parts[first].iov_base, n, at) : real(fd, parts, many, at);
}

ssize_t copy_file_range(int from, off64_t* from_at, int to, off64_t* to_at, size_t count, unsigned flags) {
  REAL(copy_file_range);
  TRANSFER(to, count)
  return real(from, from_at, to, to_at, n, flags);
}

#define SIMPLE(result_type, name, parameters, arguments, condition) \
  result_type name parameters {                                     \
    REAL(name);                                                     \
    if ((condition) && fails()) return -1;                          \
    return real arguments;                                          \
  }

SIMPLE(int, ftruncate64, (int fd, off64_t size), (fd, size), known(fd))
SIMPLE(int, fallocate64, (int fd, int mode, off64_t at, off64_t length), (fd, mode, at, length), known(fd))
static int takes_long(void) {
  if (slow_sync != 0 && (!slow_while || access(slow_while, F_OK) == 0)) sleep((unsigned)slow_sync);
  return 1;
}
SIMPLE(int, fsync, (int fd), (fd), known(fd) && takes_long())
SIMPLE(off64_t, lseek64, (int fd, off64_t at, int whence), (fd, at, whence), known(fd))

#define NAMING(name, parameters, arguments, path) \
  int name parameters {                           \
    REAL(name);                                   \
    if (below(path) && fails_as(1)) return -1;    \
    return real arguments;                        \
  }

NAMING(rename, (const char* from, const char* to), (from, to), from)
NAMING(renameat, (int from_base, const char* from, int to_base, const char* to),
       (from_base, from, to_base, to), from)
NAMING(link, (const char* from, const char* to), (from, to), to)
NAMING(mkdir, (const char* path, mode_t mode), (path, mode), path)
NAMING(unlink, (const char* path), (path), path)
NAMING(unlinkat, (int base, const char* path, int flags), (base, path, flags), path)

/* Returns by how many seconds the clock is set back. */
static time_t back(void) { return plan.clock_set_back && reached() ? plan.clock_set_back : 0; }

int clock_gettime(clockid_t clock, struct timespec* now) {
  REAL(clock_gettime);
  const int result = real(clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec -= back();
  return result;
}

int gettimeofday(struct timeval* now, void* zone) {
  REAL(gettimeofday);
  const int result = real(now, zone);
  if (result == 0) now->tv_sec -= back();
  return result;
}

time_t time(time_t* now) {
  REAL(time);
  const time_t found = real(NULL) - back();
  if (now) *now = found;
  return found;
}
