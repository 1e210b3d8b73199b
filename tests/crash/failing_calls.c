/* failing_calls: to be loaded in front of the C library (LD_PRELOAD). Calls on files below the directory
   FAILING_DIR fail as the operating system can make them fail: FAILING_SHORT=1      every transfer is first
   interrupted (EINTR) and then short FAILING_AT=K         the K-th call (from 0) fails with the number
   FAILING_ERRNO; with FAILING_ON=1 all later ones too FAILING_SLOW_SYNC=S  every fsync takes S seconds, with
   FAILING_SLOW_WHILE=PATH while there is such a file
   FAILING_COUNT=PATH   the number of calls is written there at the end
   Files are known by the descriptors that open() and openat() gave. A program can also say itself what fails,
   see failing_calls_begin(). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST_DESCRIPTORS 4096
static atomic_bool watched[MOST_DESCRIPTORS];
static atomic_long calls, transfers;
static const char *directory, *count_path;
static long fail_at = -1;
static int fail_errno = EIO, fail_on, shorten, slow_sync;
static const char* slow_while;
#define MOST_FAILURES 8
static long chosen[MOST_FAILURES];
static int number_chosen;
static char own_directory[4096];

__attribute__((constructor)) static void begin(void) {
  const char* text;
  directory = getenv("FAILING_DIR");
  count_path = getenv("FAILING_COUNT");
  if ((text = getenv("FAILING_AT"))) fail_at = atol(text);
  if ((text = getenv("FAILING_ERRNO"))) fail_errno = atoi(text);
  if ((text = getenv("FAILING_SLOW_SYNC"))) slow_sync = atoi(text);
  slow_while = getenv("FAILING_SLOW_WHILE");
  fail_on = getenv("FAILING_ON") != NULL;
  shorten = getenv("FAILING_SHORT") != NULL;
}

__attribute__((destructor)) static void end(void) {
  if (!count_path) return;
  FILE* file = fopen(count_path, "w");
  if (!file) return;
  fprintf(file, "%ld\n", atomic_load(&calls));
  fclose(file);
}

static int below(const char* path) {
  return directory && path && strncmp(path, directory, strlen(directory)) == 0;
}
static int known(int fd) { return fd >= 0 && fd < MOST_DESCRIPTORS && atomic_load(&watched[fd]); }

/* From now on the calls with the numbers at[0..count-1], counted from 0, on files below `path` fail with
   `error`. Not while another thread makes calls. failing_calls_end() lets all succeed again and returns how
   many there were. */
void failing_calls_begin(const char* path, const long* at, int count, int error) {
  snprintf(own_directory, sizeof own_directory, "%s", path);
  directory = own_directory;
  number_chosen = count < MOST_FAILURES ? count : MOST_FAILURES;
  memcpy(chosen, at, (size_t)number_chosen * sizeof *at);
  fail_errno = error;
  atomic_store(&calls, 0);
}
long failing_calls_end(void) {
  number_chosen = 0;
  return atomic_load(&calls);
}

/* 1: this call is to fail, errno is set. */
static int fails(void) {
  const long number = atomic_fetch_add(&calls, 1);
  int fails = fail_at >= 0 && number >= fail_at && (number == fail_at || fail_on);
  for (int i = 0; i < number_chosen; ++i) fails |= number == chosen[i];
  if (!fails) return 0;
  errno = fail_errno;
  return 1;
}

/* How many of `count` bytes a transfer may move; 0: it is interrupted. */
static size_t allowed(size_t count) {
  if (!shorten || count == 0) return count;
  if (atomic_fetch_add(&transfers, 1) % 2 == 0) return 0;
  return count / 3 + 1 < count ? count / 3 + 1 : count;
}

/* The function of the C library that has the name of the one here. */
#define REAL(name)               \
  static __typeof__(&name) real; \
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, #name)

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
  return fails() ? -1 : watch(real(path, flags, mode));
}

int openat64(int base, const char* path, int flags, ...) {
  REAL(openat64);
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  if (!below(path)) return real(base, path, flags, mode);
  return fails() ? -1 : watch(real(base, path, flags, mode));
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
  /* Short: the beginning of the first part that is not empty. */
  int first = 0;
  while (first + 1 < many && parts[first].iov_len == 0) ++first;
  TRANSFER(fd, parts[first].iov_len)
  return shorten ? syscall(SYS_pwrite64, fd, parts[first].iov_base, n, at) : real(fd, parts, many, at);
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
SIMPLE(int, rename, (const char* from, const char* to), (from, to), below(from))
SIMPLE(int, renameat, (int from_base, const char* from, int to_base, const char* to),
       (from_base, from, to_base, to), below(from))
SIMPLE(int, unlink, (const char* path), (path), below(path))
SIMPLE(int, unlinkat, (int base, const char* path, int flags), (base, path, flags), below(path))
