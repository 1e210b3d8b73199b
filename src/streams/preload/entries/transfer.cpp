// streams/preload/entries/transfer: the entry points of read, write and their variants.
#include <fcntl.h>
#include <unistd.h>

#include "streams/preload/descriptors.hpp"
#include "streams/preload/errors.hpp"
#include "streams/preload/real.hpp"
#include "streams/preload/transfer.hpp"

namespace sheaf::preload {

namespace {

namespace next {
constinit Real<ssize_t(int, void*, size_t, off64_t)> pread{"pread64"};
constinit Real<ssize_t(int, void*, size_t, size_t)> read_chk{"__read_chk"};
constinit Real<ssize_t(int, void*, size_t, off64_t, size_t)> pread_chk{"__pread64_chk"};
}  // namespace next

iovec part(const void* data, size_t size) { return {const_cast<void*>(data), size}; }

ssize_t read_once(int fd, void* data, size_t size) {
  if (!is_captured_point(fd)) return real::read(fd, data, size);
  const iovec one = part(data, size);
  return read_captured(fd, &one, 1, at_position);
}

ssize_t pread_once(int fd, void* data, size_t size, off64_t offset) {
  if (!is_captured_point(fd)) return next::pread(fd, data, size, offset);
  const iovec one = part(data, size);
  return read_captured_at(fd, &one, 1, offset);
}

constexpr int known_flags = RWF_HIPRI | RWF_DSYNC | RWF_SYNC | RWF_NOWAIT | RWF_APPEND;

}  // namespace

SHEAF_ENTRY_AND(ssize_t, read, __read, int fd, void* data, size_t size) { return read_once(fd, data, size); }
SHEAF_ENTRY(ssize_t, __read_chk, int fd, void* data, size_t size, size_t room) {
  return is_captured(fd) && size <= room ? read_once(fd, data, size) : next::read_chk(fd, data, size, room);
}
SHEAF_ENTRY_AND(ssize_t, write, __write, int fd, const void* data, size_t size) {
  if (!is_captured_point(fd)) return real::write(fd, data, size);
  const iovec one = part(data, size);
  return write_captured(fd, &one, 1, at_position);
}
SHEAF_ENTRY_AND(ssize_t, pread, pread64, int fd, void* data, size_t size, off64_t at) {
  return pread_once(fd, data, size, at);
}
SHEAF_ALSO(pread, __pread64);
SHEAF_ENTRY_AND(ssize_t, __pread_chk, __pread64_chk, int fd, void* data, size_t size, off64_t at,
                size_t room) {
  return is_captured(fd) && size <= room ? pread_once(fd, data, size, at)
                                         : next::pread_chk(fd, data, size, at, room);
}
SHEAF_REPLACED_AND(ssize_t, pwrite, pwrite64, int fd, const void* data, size_t size, off64_t offset) {
  if (!is_captured_point(fd)) return next::pwrite(fd, data, size, offset);
  const iovec one = part(data, size);
  return write_captured_at(fd, &one, 1, offset);
}
SHEAF_ALSO(pwrite, __pwrite64);
SHEAF_REPLACED(ssize_t, readv, int fd, const iovec* parts, int n) {
  return is_captured_point(fd) ? read_captured(fd, parts, n, at_position) : next::readv(fd, parts, n);
}
SHEAF_REPLACED(ssize_t, writev, int fd, const iovec* parts, int n) {
  return is_captured_point(fd) ? write_captured(fd, parts, n, at_position) : next::writev(fd, parts, n);
}
SHEAF_REPLACED_AND(ssize_t, preadv, preadv64, int fd, const iovec* parts, int n, off64_t offset) {
  return is_captured_point(fd) ? read_captured_at(fd, parts, n, offset) : next::preadv(fd, parts, n, offset);
}
SHEAF_REPLACED_AND(ssize_t, pwritev, pwritev64, int fd, const iovec* parts, int n, off64_t offset) {
  return is_captured_point(fd) ? write_captured_at(fd, parts, n, offset)
                               : next::pwritev(fd, parts, n, offset);
}
SHEAF_REPLACED_AND(ssize_t, preadv2, preadv64v2, int fd, const iovec* parts, int n, off64_t offset,
                   int flags) {
  if (!is_captured_point(fd)) return next::preadv2(fd, parts, n, offset, flags);
  if (flags & ~known_flags) return failed(EOPNOTSUPP);
  return offset == -1 ? read_captured(fd, parts, n, at_position) : read_captured_at(fd, parts, n, offset);
}
SHEAF_REPLACED_AND(ssize_t, pwritev2, pwritev64v2, int fd, const iovec* parts, int n, off64_t offset,
                   int flags) {
  if (!is_captured_point(fd)) return next::pwritev2(fd, parts, n, offset, flags);
  if (flags & ~known_flags) return failed(EOPNOTSUPP);
  if (offset < -1) return failed(EINVAL);
  const ssize_t done = write_captured(fd, parts, n, offset == -1 ? at_position : offset, flags & RWF_APPEND);
  if (done > 0 && (flags & (RWF_DSYNC | RWF_SYNC)) && sync_captured(fd) != 0) return -1;
  return done;
}
SHEAF_ENTRY_AND(off64_t, lseek, lseek64, int fd, off64_t offset, int whence) {
  return is_captured(fd) ? seek_captured(fd, offset, whence) : real::lseek(fd, offset, whence);
}
SHEAF_REPLACED_AND(int, ftruncate, ftruncate64, int fd, off64_t size) {
  return is_captured(fd) ? truncate_captured(fd, size) : next::ftruncate(fd, size);
}
SHEAF_REPLACED_AND(int, fallocate, fallocate64, int fd, int mode, off64_t offset, off64_t length) {
  return is_captured(fd) ? allocate_captured(fd, mode, offset, length)
                         : next::fallocate(fd, mode, offset, length);
}
// Returns 0 or an error number, and preserves errno.
SHEAF_REPLACED_AND(int, posix_fallocate, posix_fallocate64, int fd, off64_t offset, off64_t length) {
  if (!is_captured(fd)) return next::posix_fallocate(fd, offset, length);
  const KeptErrno kept;
  return allocate_captured(fd, 0, offset, length) == 0 ? 0 : errno;
}
SHEAF_REPLACED_AND(int, posix_fadvise, posix_fadvise64, int fd, off64_t offset, off64_t length, int advice) {
  if (!is_captured(fd)) return next::posix_fadvise(fd, offset, length, advice);
  if (!is_usable(fd)) return EBADF;
  return length < 0 || advice < POSIX_FADV_NORMAL || advice > POSIX_FADV_NOREUSE ? EINVAL : 0;
}
SHEAF_REPLACED(int, fsync, int fd) { return is_captured_point(fd) ? sync_captured(fd) : next::fsync(fd); }
SHEAF_REPLACED(int, fdatasync, int fd) {
  return is_captured_point(fd) ? sync_captured(fd) : next::fdatasync(fd);
}
SHEAF_REPLACED(int, syncfs, int fd) { return is_captured(fd) ? sync_captured(fd) : next::syncfs(fd); }
SHEAF_REPLACED(int, sync_file_range, int fd, off64_t at, off64_t length, unsigned flags) {
  return is_captured(fd) ? sync_captured(fd) : next::sync_file_range(fd, at, length, flags);
}
SHEAF_REPLACED(ssize_t, readahead, int fd, off64_t at, size_t size) {
  if (!is_captured(fd)) return next::readahead(fd, at, size);
  return is_usable(fd) ? 0 : failed(EBADF);
}

}  // namespace sheaf::preload
