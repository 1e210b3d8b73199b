// api/posix/entries/copy: calls that move bytes between two descriptors within the kernel. With a captured
// file at either end the bytes go through memory; where the caller has a way of its own to do that, it is
// told to.
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "api/posix/descriptors.hpp"
#include "api/posix/errors.hpp"
#include "api/posix/real.hpp"

namespace sheaf::posix {

namespace {

namespace next {
constinit Real<ssize_t(int, int, off64_t*, size_t)> sendfile{"sendfile64"};
constinit Real<ssize_t(int, off64_t*, int, off64_t*, size_t, unsigned)> copy_file_range{"copy_file_range"},
    splice{"splice"};
constinit Real<int(int, unsigned long, void*)> ioctl{"ioctl"};
}  // namespace next

constexpr size_t piece = size_t{1} << 20;  // bytes

// Copies up to `size` bytes; null: at the offset of the descriptor, which moves. The calls are those of a
// program, captured or not.
ssize_t copy(int from, off64_t* from_at, int to, off64_t* to_at, size_t size) {
  const size_t room_size = std::min(size, piece);
  const std::unique_ptr<char, decltype(&free)> room(
      static_cast<char*>(malloc(std::max<size_t>(room_size, 1))), free);
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
    if (!from_at) lseek64(from, std::max<ssize_t>(put, 0) - got, SEEK_CUR);  // what was read and not written
    return put < 0 && done == 0 ? failed(error) : ssize_t(done);
  }
  return ssize_t(done);
}

}  // namespace

SHEAF_ENTRY_AND(ssize_t, sendfile, sendfile64, int to, int from, off64_t* from_at, size_t size) {
  return is_captured(to) || is_captured(from) ? copy(from, from_at, to, nullptr, size)
                                              : next::sendfile(to, from, from_at, size);
}
SHEAF_ENTRY(ssize_t, copy_file_range, int from, off64_t* from_at, int to, off64_t* to_at, size_t size,
            unsigned flags) {
  if (!is_captured(from) && !is_captured(to))
    return next::copy_file_range(from, from_at, to, to_at, size, flags);
  return flags ? failed(EINVAL) : copy(from, from_at, to, to_at, size);
}
SHEAF_ENTRY(ssize_t, splice, int from, off64_t* from_at, int to, off64_t* to_at, size_t size,
            unsigned flags) {
  if (!is_captured(from) && !is_captured(to)) return next::splice(from, from_at, to, to_at, size, flags);
  return copy(from, from_at, to, to_at, std::min(size, size_t{65536}));  // as much as a pipe holds
}
SHEAF_ENTRY(int, ioctl, int fd, unsigned long request, void* argument) {
  const bool clone = request == FICLONE || request == FICLONERANGE;
  if (clone && !is_captured(fd) && is_captured(int(reinterpret_cast<long>(argument))))
    return failed(EOPNOTSUPP);
  if (!is_captured(fd)) return next::ioctl(fd, request, argument);
  if (request == FIOCLEX || request == FIONCLEX) return next::ioctl(fd, request, argument);
  return failed(clone ? EOPNOTSUPP : ENOTTY);
}

}  // namespace sheaf::posix
