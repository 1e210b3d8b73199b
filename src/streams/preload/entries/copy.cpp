// streams/preload/entries/copy: calls that copy bytes between two descriptors inside the kernel. If one of
// the two is a captured file, the library copies the bytes through memory. Calls for which every program
// needs a fallback fail instead, so that the program uses its own.
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "streams/preload/descriptors.hpp"
#include "streams/preload/errors.hpp"
#include "streams/preload/real.hpp"

namespace sheaf::preload {

namespace {

namespace next {
constinit Real<int(int, unsigned long, void*)> ioctl{"ioctl"};
}  // namespace next

// The functions of this file call read, write and others through the entry points, so they accept captured
// and plain descriptors.

constexpr size_t copied_at_once = size_t{1} << 20;  // bytes

using CopyBuffer = std::unique_ptr<char, decltype(&free)>;
CopyBuffer room_of(size_t size) { return {static_cast<char*>(malloc(std::max<size_t>(size, 1))), free}; }

// Copies up to `size` bytes. Returns the number of bytes copied, or -1 with errno. If `from_at` or `to_at` is
// null, uses and advances the offset of that descriptor.
ssize_t copy(int from, off64_t* from_at, int to, off64_t* to_at, size_t size) {
  const size_t room_size = std::min(size, copied_at_once);
  const CopyBuffer room = room_of(room_size);
  if (!room) return failed(ENOMEM);
  size_t done = 0;
  while (done < size) {
    const size_t wanted = std::min(size - done, room_size);
    const ssize_t got =
        from_at ? pread64(from, room.get(), wanted, *from_at) : read(from, room.get(), wanted);
    if (got <= 0) return got < 0 && done == 0 ? -1 : ssize_t(done);
    const ssize_t put =
        to_at ? pwrite64(to, room.get(), size_t(got), *to_at) : write(to, room.get(), size_t(got));
    if (put > 0) {
      done += size_t(put);
      if (from_at) *from_at += put;
      if (to_at) *to_at += put;
    }
    if (put == got) continue;
    const int error = errno;
    if (!from_at) lseek64(from, std::max<ssize_t>(put, 0) - got, SEEK_CUR);  // unread the rest
    return put < 0 && done == 0 ? failed(error) : ssize_t(done);
  }
  return ssize_t(done);
}

bool appends(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && (flags & O_APPEND);
}

ssize_t send(int to, int from, off64_t* from_at, size_t size) {
  struct stat status;
  if (fstat(from, &status) != 0) return -1;
  if ((!S_ISREG(status.st_mode) && !S_ISBLK(status.st_mode)) || appends(to)) return failed(EINVAL);
  return copy(from, from_at, to, nullptr, size);
}

// Returns 0, or the errno that forbids copying between the two files. On success sets the size of `from` and
// whether both are the same file.
int ask_files(int from, int to, off64_t& size, bool& same) {
  struct stat source, target;
  if (fstat(from, &source) != 0 || fstat(to, &target) != 0) return EBADF;
  if (S_ISDIR(source.st_mode) || S_ISDIR(target.st_mode)) return EISDIR;
  if (!S_ISREG(source.st_mode) || !S_ISREG(target.st_mode)) return EINVAL;
  const int mode = fcntl(from, F_GETFL), wanted = fcntl(to, F_GETFL);
  if ((mode & O_ACCMODE) == O_WRONLY || (wanted & O_ACCMODE) == O_RDONLY || (wanted & O_APPEND)) return EBADF;
  size = source.st_size;
  same = source.st_dev == target.st_dev && source.st_ino == target.st_ino;
  return 0;
}

ssize_t copy_range(int from, off64_t* from_at, int to, off64_t* to_at, size_t size) {
  off64_t source_size = 0;
  bool same = false;
  if (const int error = ask_files(from, to, source_size, same)) return failed(error);
  const off64_t begin = from_at ? *from_at : lseek64(from, 0, SEEK_CUR);
  const off64_t place = to_at ? *to_at : lseek64(to, 0, SEEK_CUR);
  if (begin < 0 || place < 0) return failed(EINVAL);
  size = std::min(size, size_t(std::max<off64_t>(source_size - begin, 0)));
  if (same && place < begin + off64_t(size) && begin < place + off64_t(size)) return failed(EINVAL);
  return copy(from, from_at, to, to_at, size);
}

// Moves up to `size` bytes from the pipe `from` to the file `to`. Waits if the pipe is empty, unless
// SPLICE_F_NONBLOCK is set. Returns the number of bytes, or -1 with errno.
ssize_t from_pipe(int from, int to, off64_t* to_at, size_t size, unsigned flags) {
  const int mode = fcntl(to, F_GETFL);
  if ((mode & O_ACCMODE) == O_RDONLY) return failed(EBADF);  // before any byte is read
  if (mode & O_APPEND) return failed(EINVAL);
  pollfd ready{from, POLLIN, 0};
  if ((flags & SPLICE_F_NONBLOCK) && poll(&ready, 1, 0) == 0) return failed(EAGAIN);
  const int capacity = fcntl(from, F_GETPIPE_SZ);
  size = std::min(size, size_t(std::max(capacity, 1)));
  const CopyBuffer room = room_of(size);
  if (!room) return failed(ENOMEM);
  const ssize_t got = read(from, room.get(), size);
  if (got <= 0) return got;
  const ssize_t put =
      to_at ? pwrite64(to, room.get(), size_t(got), *to_at) : write(to, room.get(), size_t(got));
  if (put > 0 && to_at) *to_at += put;
  return put;
}

// Moves up to `size` bytes from the file `from` into the pipe `to`, as many as fit. Waits if the pipe is
// full. Splices pages of memory into the pipe instead of writing bytes, because a write could block after a
// part.
ssize_t into_pipe(int from, off64_t* from_at, int to, size_t size, unsigned flags) {
  const int capacity = fcntl(to, F_GETPIPE_SZ);
  if (capacity < 0) return -1;
  if ((fcntl(to, F_GETFL) & O_ACCMODE) == O_RDONLY) return failed(EBADF);
  size = std::min(size, size_t(capacity));
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return -1;
  const ssize_t got = from_at ? pread64(from, memory, size, *from_at) : read(from, memory, size);
  ssize_t put = got;
  int error = errno;
  if (got > 0) {
    const iovec all{memory, size_t(got)};
    const bool waits = !(flags & SPLICE_F_NONBLOCK) && !(fcntl(to, F_GETFL) & O_NONBLOCK);
    put = vmsplice(to, &all, 1, waits ? 0 : SPLICE_F_NONBLOCK);
    error = errno;
    const ssize_t moved = std::max<ssize_t>(put, 0);
    if (from_at) *from_at += moved;
    if (!from_at && moved != got) lseek64(from, moved - got, SEEK_CUR);
  }
  munmap(memory, size);
  return put < 0 ? failed(error) : put;
}

ssize_t splice_captured(int from, off64_t* from_at, int to, off64_t* to_at, size_t size, unsigned flags) {
  constexpr unsigned known = SPLICE_F_MOVE | SPLICE_F_NONBLOCK | SPLICE_F_MORE | SPLICE_F_GIFT;
  if (size == 0) return 0;
  if (flags & ~known) return failed(EINVAL);
  struct stat source, target;
  if (fstat(from, &source) != 0 || fstat(to, &target) != 0) return -1;
  const bool in = S_ISFIFO(source.st_mode), out = S_ISFIFO(target.st_mode);
  if ((in && from_at) || (out && to_at)) return failed(ESPIPE);
  if (in) return from_pipe(from, to, to_at, size, flags);
  return out ? into_pipe(from, from_at, to, size, flags) : failed(EINVAL);
}

// Implements ioctl(2) on a captured file, for the requests that apply to all files.
int control(int fd, unsigned long request, void* argument) {
  auto* const value = static_cast<int*>(argument);
  struct stat status;
  if (!is_usable(fd)) return failed(EBADF);
  switch (request) {
    case FIOCLEX:
    case FIONCLEX:
      return next::ioctl(fd, request, argument);
    case FIONREAD:
      if (fstat(fd, &status) != 0) return -1;
      *value = int(status.st_size - lseek64(fd, 0, SEEK_CUR));
      return 0;
    case FIONBIO:
      return fcntl(fd, F_SETFL, (fcntl(fd, F_GETFL) & ~O_NONBLOCK) | (*value ? O_NONBLOCK : 0));
    case FICLONE:
    case FICLONERANGE:
      return failed(EOPNOTSUPP);
    default:
      return failed(ENOTTY);
  }
}

}  // namespace

SHEAF_REPLACED_AND(ssize_t, sendfile, sendfile64, int to, int from, off64_t* from_at, size_t size) {
  return is_captured(to) || is_captured(from) ? send(to, from, from_at, size)
                                              : next::sendfile(to, from, from_at, size);
}
SHEAF_REPLACED(ssize_t, copy_file_range, int from, off64_t* from_at, int to, off64_t* to_at, size_t size,
               unsigned flags) {
  if (!is_captured(from) && !is_captured(to))
    return next::copy_file_range(from, from_at, to, to_at, size, flags);
  return flags ? failed(EINVAL) : copy_range(from, from_at, to, to_at, size);
}
SHEAF_REPLACED(ssize_t, splice, int from, off64_t* from_at, int to, off64_t* to_at, size_t size,
               unsigned flags) {
  return is_captured(from) || is_captured(to) ? splice_captured(from, from_at, to, to_at, size, flags)
                                              : next::splice(from, from_at, to, to_at, size, flags);
}
// Lets the C library write to a memory file and copies the result. Does not call malloc, because programs
// call this function in signal handlers.
SHEAF_REPLACED(void, backtrace_symbols_fd, void* const* frames, int n, int fd) {
  if (!is_captured(fd)) return next::backtrace_symbols_fd(frames, n, fd);
  const int memory = memfd_create("sheaf backtrace", MFD_CLOEXEC);
  if (memory < 0) return;
  next::backtrace_symbols_fd(frames, n, memory);
  char part[1024];
  ssize_t got = 0;
  real::lseek(memory, 0, SEEK_SET);
  while ((got = real::read(memory, part, sizeof part)) > 0)
    if (write(fd, part, size_t(got)) != got) break;
  real::close(memory);
}
SHEAF_ENTRY(int, ioctl, int fd, unsigned long request, void* argument) {
  if (is_captured(fd)) return control(fd, request, argument);
  const bool clone = request == FICLONE || request == FICLONERANGE;
  if (clone && is_captured(int(reinterpret_cast<long>(argument)))) return failed(EOPNOTSUPP);
  return next::ioctl(fd, request, argument);
}

}  // namespace sheaf::preload
