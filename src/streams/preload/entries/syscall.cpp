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

#include <algorithm>
#include <array>
#include <cerrno>
#include <type_traits>
#include <utility>

#include "streams/preload/inside.hpp"
#include "streams/preload/names/rules.hpp"
#include "streams/preload/real.hpp"

extern "C" int close_range(unsigned, unsigned, int) noexcept;

namespace sheaf::preload {

namespace {

constinit Real<long(long, long, long, long, long, long, long)> next_syscall{"syscall"};

template <class Value>
Value as(long argument) {
  if constexpr (std::is_pointer_v<Value>)
    return reinterpret_cast<Value>(argument);
  else
    return Value(argument);
}

template <class Result, class... Parameters, size_t... number>
long call(Result (*function)(Parameters...), const long* a, std::index_sequence<number...>) {
  const Result result = function(as<Parameters>(a[number])...);
  if constexpr (std::is_pointer_v<Result>)
    return reinterpret_cast<long>(result);
  else
    return result;
}

template <class Result, class... Parameters>
long call(Result (*function)(Parameters...), const long* a) {
  return call(function, a, std::index_sequence_for<Parameters...>());
}

// Performs a system call with six arguments.
using Forward = long (*)(const long* a);

// Calls `function` with the arguments of a system call, which has the same parameters in the same order.
template <auto function>
long forward(const long* a) {
  return call(function, a);
}

struct OpenHow {  // same as open_how of linux/openat2.h
  unsigned long flags, mode, resolve;
};

struct ForwardedCall {
  long number;
  Forward forward;
};

// The calls with an entry point. A function of the C library that has other parameters than the system call,
// or a variable number of them, is called by a function without captures.
constexpr ForwardedCall forwarded[] = {
    {SYS_read, forward<read>},
    {SYS_write, forward<write>},
    {SYS_pread64, forward<pread64>},
    {SYS_pwrite64, forward<pwrite64>},
    {SYS_readv, forward<readv>},
    {SYS_writev, forward<writev>},
    {SYS_preadv, forward<preadv64>},
    {SYS_pwritev, forward<pwritev64>},
    {SYS_preadv2, forward<+[](int fd, const iovec* parts, int n, off64_t offset, long, int flags) {
       return preadv64v2(fd, parts, n, offset, flags);
     }>},
    {SYS_pwritev2, forward<+[](int fd, const iovec* parts, int n, off64_t offset, long, int flags) {
       return pwritev64v2(fd, parts, n, offset, flags);
     }>},
    {SYS_lseek, forward<lseek64>},
    {SYS_close, forward<close>},
    {SYS_close_range, forward<close_range>},
    {SYS_fstat, forward<fstat>},
    {SYS_dup, forward<dup>},
    {SYS_dup3, forward<dup3>},
    {SYS_fcntl, forward<+[](int fd, int command, long value) { return fcntl(fd, command, value); }>},
    {SYS_ftruncate, forward<ftruncate64>},
    {SYS_fallocate, forward<fallocate64>},
    {SYS_fsync, forward<fsync>},
    {SYS_fdatasync, forward<fdatasync>},
    {SYS_flock, forward<flock>},
    {SYS_ioctl, forward<+[](int fd, size_t request, long value) { return ioctl(fd, request, value); }>},
    {SYS_splice, forward<splice>},
    {SYS_fchmod, forward<fchmod>},
    {SYS_sendfile, forward<sendfile64>},
    {SYS_copy_file_range, forward<copy_file_range>},
    {SYS_mmap, forward<mmap64>},
    {SYS_openat, forward<+[](int at, const char* path, int flags, mode_t mode) {
       return openat64(at, path, flags, mode);
     }>},
    {SYS_newfstatat, forward<fstatat>},
    {SYS_statx, forward<statx>},
    {SYS_faccessat,
     forward<+[](int at, const char* path, int mode) { return faccessat(at, path, mode, 0); }>},
    {SYS_faccessat2, forward<faccessat>},
    {SYS_unlinkat, forward<unlinkat>},
#ifdef SYS_renameat
    {SYS_renameat, forward<renameat>},
#endif
    {SYS_fchmodat,
     forward<+[](int at, const char* path, mode_t mode) { return fchmodat(at, path, mode, 0); }>},
    {SYS_utimensat, forward<+[](int at, const char* path, const timespec* times, int flags) {
       return path ? utimensat(at, path, times, flags) : futimens(at, times);
     }>},
    {SYS_renameat2, forward<renameat2>},
    {SYS_linkat, forward<linkat>},
    {SYS_mkdirat, forward<mkdirat>},
    {SYS_truncate, forward<truncate64>},
#ifdef SYS_open  // older architectures
    {SYS_open, forward<+[](const char* path, int flags, mode_t mode) { return open64(path, flags, mode); }>},
    {SYS_creat, forward<creat64>},
    {SYS_stat, forward<stat>},
    {SYS_lstat, forward<lstat>},
    {SYS_access, forward<access>},
    {SYS_unlink, forward<unlink>},
    {SYS_rename, forward<rename>},
    {SYS_rmdir, forward<rmdir>},
    {SYS_mkdir, forward<mkdir>},
    {SYS_dup2, forward<dup2>},
#endif
};

constexpr size_t end_of_calls = size_t(std::ranges::max(forwarded, {}, &ForwardedCall::number).number) + 1;
constexpr auto forward_of = [] {
  std::array<Forward, end_of_calls> all{};
  for (const ForwardedCall& one : forwarded) all[size_t(one.number)] = one.forward;
  return all;
}();

}  // namespace

SHEAF_ENTRY(long, syscall, long number, long a, long b, long c, long d, long e, long f) {
  const long arguments[] = {a, b, c, d, e, f};
  if (!is_inside() && !rules().empty()) {
    const auto* const how = number == SYS_openat2 ? as<const OpenHow*>(c) : nullptr;
    if (how && how->resolve == 0)
      return openat64(int(a), as<const char*>(b), int(how->flags), mode_t(how->mode));
    if (size_t(number) < end_of_calls && forward_of[size_t(number)])
      return forward_of[size_t(number)](arguments);
  }
  return next_syscall(number, a, b, c, d, e, f);
}

}  // namespace sheaf::preload
