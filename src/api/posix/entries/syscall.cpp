// api/posix/entries/syscall: syscall(2) with the numbers of calls that have an entry point, which it becomes.
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "api/posix/inside.hpp"
#include "api/posix/names/rules.hpp"
#include "api/posix/real.hpp"

extern "C" int close_range(unsigned, unsigned, int) noexcept;

namespace sheaf::posix {

namespace {

constinit Real<long(long, long, long, long, long, long, long)> next_syscall{"syscall"};

template <class Value>
Value as(long argument) {
  return reinterpret_cast<Value>(argument);
}

using Text = const char*;
using Parts = const iovec*;

struct OpenHow {  // open_how of linux/openat2.h
  unsigned long flags, mode, resolve;
};

// False: it is no call on files by descriptor.
bool by_descriptor(long number, const long* a, long& result) {
  const int fd = int(a[0]);
  switch (number) {
    case SYS_read:
      result = read(fd, as<void*>(a[1]), size_t(a[2]));
      return true;
    case SYS_write:
      result = write(fd, as<void*>(a[1]), size_t(a[2]));
      return true;
    case SYS_pread64:
      result = pread64(fd, as<void*>(a[1]), size_t(a[2]), a[3]);
      return true;
    case SYS_pwrite64:
      result = pwrite64(fd, as<void*>(a[1]), size_t(a[2]), a[3]);
      return true;
    case SYS_readv:
      result = readv(fd, as<Parts>(a[1]), int(a[2]));
      return true;
    case SYS_writev:
      result = writev(fd, as<Parts>(a[1]), int(a[2]));
      return true;
    case SYS_preadv:
      result = preadv64(fd, as<Parts>(a[1]), int(a[2]), a[3]);
      return true;
    case SYS_pwritev:
      result = pwritev64(fd, as<Parts>(a[1]), int(a[2]), a[3]);
      return true;
    case SYS_preadv2:
      result = preadv64v2(fd, as<Parts>(a[1]), int(a[2]), a[3], int(a[5]));
      return true;
    case SYS_pwritev2:
      result = pwritev64v2(fd, as<Parts>(a[1]), int(a[2]), a[3], int(a[5]));
      return true;
    case SYS_lseek:
      result = lseek64(fd, a[1], int(a[2]));
      return true;
    case SYS_close:
      result = close(fd);
      return true;
    case SYS_close_range:
      result = close_range(unsigned(a[0]), unsigned(a[1]), int(a[2]));
      return true;
    case SYS_fstat:
      result = fstat(fd, as<struct stat*>(a[1]));
      return true;
    case SYS_dup:
      result = dup(fd);
      return true;
    case SYS_dup3:
      result = dup3(fd, int(a[1]), int(a[2]));
      return true;
    case SYS_fcntl:
      result = fcntl(fd, int(a[1]), a[2]);
      return true;
    case SYS_ftruncate:
      result = ftruncate64(fd, a[1]);
      return true;
    case SYS_fallocate:
      result = fallocate64(fd, int(a[1]), a[2], a[3]);
      return true;
    case SYS_fsync:
      result = fsync(fd);
      return true;
    case SYS_fdatasync:
      result = fdatasync(fd);
      return true;
    case SYS_fchmod:
      result = fchmod(fd, mode_t(a[1]));
      return true;
    case SYS_sendfile:
      result = sendfile64(fd, int(a[1]), as<off64_t*>(a[2]), size_t(a[3]));
      return true;
    case SYS_copy_file_range:
      result = copy_file_range(fd, as<off64_t*>(a[1]), int(a[2]), as<off64_t*>(a[3]), size_t(a[4]),
                               unsigned(a[5]));
      return true;
    default:
      return false;
  }
}

bool by_name(long number, const long* a, long& result) {
  const int at = int(a[0]);
  switch (number) {
    case SYS_openat:
      result = openat64(at, as<Text>(a[1]), int(a[2]), mode_t(a[3]));
      return true;
    case SYS_openat2: {
      const auto& how = *as<const OpenHow*>(a[2]);
      if (how.resolve != 0) return false;
      result = openat64(at, as<Text>(a[1]), int(how.flags), mode_t(how.mode));
      return true;
    }
    case SYS_newfstatat:
      result = fstatat(at, as<Text>(a[1]), as<struct stat*>(a[2]), int(a[3]));
      return true;
    case SYS_statx:
      result = statx(at, as<Text>(a[1]), int(a[2]), unsigned(a[3]), as<struct statx*>(a[4]));
      return true;
    case SYS_faccessat:
      result = faccessat(at, as<Text>(a[1]), int(a[2]), 0);
      return true;
    case SYS_faccessat2:
      result = faccessat(at, as<Text>(a[1]), int(a[2]), int(a[3]));
      return true;
    case SYS_unlinkat:
      result = unlinkat(at, as<Text>(a[1]), int(a[2]));
      return true;
    case SYS_renameat2:
      result = renameat2(at, as<Text>(a[1]), int(a[2]), as<Text>(a[3]), unsigned(a[4]));
      return true;
    case SYS_linkat:
      result = linkat(at, as<Text>(a[1]), int(a[2]), as<Text>(a[3]), int(a[4]));
      return true;
    case SYS_mkdirat:
      result = mkdirat(at, as<Text>(a[1]), mode_t(a[2]));
      return true;
    case SYS_truncate:
      result = truncate64(as<Text>(a[0]), a[1]);
      return true;
#ifdef SYS_open  // older architectures
    case SYS_open:
      result = open64(as<Text>(a[0]), int(a[1]), mode_t(a[2]));
      return true;
    case SYS_creat:
      result = creat64(as<Text>(a[0]), mode_t(a[1]));
      return true;
    case SYS_stat:
      result = stat(as<Text>(a[0]), as<struct stat*>(a[1]));
      return true;
    case SYS_lstat:
      result = lstat(as<Text>(a[0]), as<struct stat*>(a[1]));
      return true;
    case SYS_access:
      result = access(as<Text>(a[0]), int(a[1]));
      return true;
    case SYS_unlink:
      result = unlink(as<Text>(a[0]));
      return true;
    case SYS_rename:
      result = rename(as<Text>(a[0]), as<Text>(a[1]));
      return true;
    case SYS_rmdir:
      result = rmdir(as<Text>(a[0]));
      return true;
    case SYS_mkdir:
      result = mkdir(as<Text>(a[0]), mode_t(a[1]));
      return true;
    case SYS_dup2:
      result = dup2(at, int(a[1]));
      return true;
#endif
    default:
      return false;
  }
}

}  // namespace

SHEAF_ENTRY(long, syscall, long number, long a, long b, long c, long d, long e, long f) {
  const long arguments[] = {a, b, c, d, e, f};
  long result = 0;
  if (!is_inside() && !rules().empty()) {
    if (by_descriptor(number, arguments, result) || by_name(number, arguments, result)) return result;
    if (number == SYS_mmap)
      return reinterpret_cast<long>(mmap64(as<void*>(a), size_t(b), int(c), int(d), int(e), f));
  }
  return next_syscall(number, a, b, c, d, e, f);
}

}  // namespace sheaf::posix
