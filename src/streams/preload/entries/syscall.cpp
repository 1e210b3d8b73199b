// streams/preload/entries/syscall: the entry point of syscall(2). Forwards each call that has an entry point
// of its own to that entry point.
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "streams/preload/inside.hpp"
#include "streams/preload/names/rules.hpp"
#include "streams/preload/real.hpp"

extern "C" int close_range(unsigned, unsigned, int) noexcept;

namespace sheaf::preload {

namespace {

constinit Real<long(long, long, long, long, long, long, long)> next_syscall{"syscall"};

template <class Value>
Value as(long argument) {
  return reinterpret_cast<Value>(argument);
}

using CString = const char*;
using IovecArray = const iovec*;

struct OpenHow {  // same as open_how of linux/openat2.h
  unsigned long flags, mode, resolve;
};

// Performs the system call `number` if it uses a file by descriptor, and returns its result. Returns nullopt
// for other calls.
std::optional<long> by_descriptor(long number, const long* a) {
  const int fd = int(a[0]);
  switch (number) {
    case SYS_read:
      return read(fd, as<void*>(a[1]), size_t(a[2]));
    case SYS_write:
      return write(fd, as<void*>(a[1]), size_t(a[2]));
    case SYS_pread64:
      return pread64(fd, as<void*>(a[1]), size_t(a[2]), a[3]);
    case SYS_pwrite64:
      return pwrite64(fd, as<void*>(a[1]), size_t(a[2]), a[3]);
    case SYS_readv:
      return readv(fd, as<IovecArray>(a[1]), int(a[2]));
    case SYS_writev:
      return writev(fd, as<IovecArray>(a[1]), int(a[2]));
    case SYS_preadv:
      return preadv64(fd, as<IovecArray>(a[1]), int(a[2]), a[3]);
    case SYS_pwritev:
      return pwritev64(fd, as<IovecArray>(a[1]), int(a[2]), a[3]);
    case SYS_preadv2:
      return preadv64v2(fd, as<IovecArray>(a[1]), int(a[2]), a[3], int(a[5]));
    case SYS_pwritev2:
      return pwritev64v2(fd, as<IovecArray>(a[1]), int(a[2]), a[3], int(a[5]));
    case SYS_lseek:
      return lseek64(fd, a[1], int(a[2]));
    case SYS_close:
      return close(fd);
    case SYS_close_range:
      return close_range(unsigned(a[0]), unsigned(a[1]), int(a[2]));
    case SYS_fstat:
      return fstat(fd, as<struct stat*>(a[1]));
    case SYS_dup:
      return dup(fd);
    case SYS_dup3:
      return dup3(fd, int(a[1]), int(a[2]));
    case SYS_fcntl:
      return fcntl(fd, int(a[1]), a[2]);
    case SYS_ftruncate:
      return ftruncate64(fd, a[1]);
    case SYS_fallocate:
      return fallocate64(fd, int(a[1]), a[2], a[3]);
    case SYS_fsync:
      return fsync(fd);
    case SYS_fdatasync:
      return fdatasync(fd);
    case SYS_flock:
      return flock(fd, int(a[1]));
    case SYS_ioctl:
      return ioctl(fd, size_t(a[1]), a[2]);
    case SYS_splice:
      return splice(fd, as<off64_t*>(a[1]), int(a[2]), as<off64_t*>(a[3]), size_t(a[4]), unsigned(a[5]));
    case SYS_fchmod:
      return fchmod(fd, mode_t(a[1]));
    case SYS_sendfile:
      return sendfile64(fd, int(a[1]), as<off64_t*>(a[2]), size_t(a[3]));
    case SYS_copy_file_range:
      return copy_file_range(fd, as<off64_t*>(a[1]), int(a[2]), as<off64_t*>(a[3]), size_t(a[4]),
                             unsigned(a[5]));
    case SYS_mmap:
      return reinterpret_cast<long>(
          mmap64(as<void*>(a[0]), size_t(a[1]), int(a[2]), int(a[3]), int(a[4]), a[5]));
    default:
      return std::nullopt;
  }
}

std::optional<long> by_name(long number, const long* a) {
  const int at = int(a[0]);
  switch (number) {
    case SYS_openat:
      return openat64(at, as<CString>(a[1]), int(a[2]), mode_t(a[3]));
    case SYS_openat2: {
      const auto& how = *as<const OpenHow*>(a[2]);
      if (how.resolve != 0) return std::nullopt;
      return openat64(at, as<CString>(a[1]), int(how.flags), mode_t(how.mode));
    }
    case SYS_newfstatat:
      return fstatat(at, as<CString>(a[1]), as<struct stat*>(a[2]), int(a[3]));
    case SYS_statx:
      return statx(at, as<CString>(a[1]), int(a[2]), unsigned(a[3]), as<struct statx*>(a[4]));
    case SYS_faccessat:
      return faccessat(at, as<CString>(a[1]), int(a[2]), 0);
    case SYS_faccessat2:
      return faccessat(at, as<CString>(a[1]), int(a[2]), int(a[3]));
    case SYS_unlinkat:
      return unlinkat(at, as<CString>(a[1]), int(a[2]));
#ifdef SYS_renameat
    case SYS_renameat:
      return renameat(at, as<CString>(a[1]), int(a[2]), as<CString>(a[3]));
#endif
    case SYS_fchmodat:
      return fchmodat(at, as<CString>(a[1]), mode_t(a[2]), 0);
    case SYS_utimensat:
      return a[1] ? utimensat(at, as<CString>(a[1]), as<const timespec*>(a[2]), int(a[3]))
                  : futimens(at, as<const timespec*>(a[2]));
    case SYS_renameat2:
      return renameat2(at, as<CString>(a[1]), int(a[2]), as<CString>(a[3]), unsigned(a[4]));
    case SYS_linkat:
      return linkat(at, as<CString>(a[1]), int(a[2]), as<CString>(a[3]), int(a[4]));
    case SYS_mkdirat:
      return mkdirat(at, as<CString>(a[1]), mode_t(a[2]));
    case SYS_truncate:
      return truncate64(as<CString>(a[0]), a[1]);
#ifdef SYS_open  // older architectures
    case SYS_open:
      return open64(as<CString>(a[0]), int(a[1]), mode_t(a[2]));
    case SYS_creat:
      return creat64(as<CString>(a[0]), mode_t(a[1]));
    case SYS_stat:
      return stat(as<CString>(a[0]), as<struct stat*>(a[1]));
    case SYS_lstat:
      return lstat(as<CString>(a[0]), as<struct stat*>(a[1]));
    case SYS_access:
      return access(as<CString>(a[0]), int(a[1]));
    case SYS_unlink:
      return unlink(as<CString>(a[0]));
    case SYS_rename:
      return rename(as<CString>(a[0]), as<CString>(a[1]));
    case SYS_rmdir:
      return rmdir(as<CString>(a[0]));
    case SYS_mkdir:
      return mkdir(as<CString>(a[0]), mode_t(a[1]));
    case SYS_dup2:
      return dup2(at, int(a[1]));
#endif
    default:
      return std::nullopt;
  }
}

}  // namespace

SHEAF_ENTRY(long, syscall, long number, long a, long b, long c, long d, long e, long f) {
  const long arguments[] = {a, b, c, d, e, f};
  if (!is_inside() && !rules().empty()) {
    if (const auto result = by_descriptor(number, arguments)) return *result;
    if (const auto result = by_name(number, arguments)) return *result;
  }
  return next_syscall(number, a, b, c, d, e, f);
}

}  // namespace sheaf::preload
