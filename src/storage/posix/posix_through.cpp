// storage/posix/posix_file: what hosts that share no page cache need of a file.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "storage/posix/direct_file.hpp"
#include "storage/posix/posix_file.hpp"
#include "storage/range.hpp"
#include "storage/system/posix_transfer.hpp"

namespace sheaf {

namespace {

bool are_one_file(int a, int b) {
  struct stat one, other;
  return ::fstat(a, &one) == 0 && ::fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

}  // namespace

// The same as fstat(2), which may cost another message.
bool status_of_server(int fd, struct stat& found) {
  struct statx there;
  if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &there) != 0)
    return errno == ENOSYS && ::fstat(fd, &found) == 0;
  found = {};
  found.st_dev = makedev(there.stx_dev_major, there.stx_dev_minor);
  found.st_ino = there.stx_ino;
  found.st_mode = there.stx_mode;
  found.st_nlink = there.stx_nlink;
  found.st_uid = there.stx_uid;
  found.st_gid = there.stx_gid;
  found.st_size = static_cast<off_t>(there.stx_size);
  found.st_blksize = there.stx_blksize;
  found.st_blocks = static_cast<blkcnt_t>(there.stx_blocks);
  found.st_mtim = {there.stx_mtime.tv_sec, there.stx_mtime.tv_nsec};
  return true;
}

// Negative if the name means another file by now, or none.
int PosixFile::open_beside_own(int flags) const {
  const int all = flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  const int fd = how_.open
                     ? how_.open(all)
                     : uninterrupted([&] { return ::openat(base_of(directory_.get()), path_.c_str(), all); });
  if (fd < 0 || are_one_file(fd, fd_)) return fd;
  ::close(fd);
  errno = ESTALE;
  return -1;
}

std::shared_ptr<DirectFile> PosixFile::open_direct() {
  const bool writes = writable_ && !is_fuse(file_system());
  const int access = writes ? O_RDWR : O_RDONLY;
  bool direct = true;
  int fd = open_beside_own(access | O_DIRECT);
  if (fd < 0 && errno == EINVAL) {
    direct = false;
    fd = open_beside_own(access);
  }
  return fd < 0 ? nullptr : std::make_shared<DirectFile>(fd, direct, path_);
}

std::shared_ptr<DirectFile> PosixFile::direct() {
  const std::lock_guard lock(direct_mutex_);
  if (!direct_) direct_ = open_direct();
  return direct_;
}

std::shared_ptr<DirectFile> PosixFile::written() {
  const std::lock_guard lock(direct_mutex_);
  if (!written_)
    if (const int fd = open_beside_own(O_RDWR); fd >= 0)
      written_ = std::make_shared<DirectFile>(fd, false, path_);
  return written_;
}

void PosixFile::sync_written() {
  std::shared_ptr<DirectFile> file;
  {
    const std::lock_guard lock(direct_mutex_);
    file = std::exchange(written_, nullptr);
  }
  if (file && uninterrupted([&] { return ::fsync(file->descriptor()); }) != 0)
    throw os_error("cannot sync", path_, errno);
}

void PosixFile::know(FileSystem kind) {
  if (is_fuse(kind)) file_system_ = static_cast<int>(kind);
}

// A look at the attributes would do on GlusterFS, too, but the kernel then forgets the pages of the file.
void PosixFile::publish() {
  sync_written();
  const int again = closes_publish(file_system()) ? ::fcntl(fd_, F_DUPFD_CLOEXEC, 0) : -1;
  const int error = again < 0 || ::close(again) == 0 ? 0 : errno;
  if (again >= 0 && error == 0) return;
  if ((error != 0 && error != EINTR) || uninterrupted([&] { return ::fsync(fd_); }) != 0)
    throw os_error("cannot sync", path_, errno);
}

// GlusterFS brings its attributes up to date with the answer to fsync, MooseFS when a file is opened, and
// what the kernel keeps goes with the pages and with a new look at the attributes. The descriptor with the
// locks stays.
void PosixFile::renew() {
  sync_written();
  if (uninterrupted([&] { return ::fsync(fd_); }) != 0 && errno != EINVAL && errno != EROFS)
    throw os_error("cannot sync", path_, errno);
  ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
  {
    const std::lock_guard lock(direct_mutex_);
    if (auto again = open_direct()) direct_ = std::move(again);
  }
  struct stat found;
  if (!status_of_server(fd_, found)) throw os_error("cannot get the status of", path_, errno);
}

// FUSE hands on just the bytes of a write, unless it was mounted with a write-back cache. Its direct writes
// are no better there, and not safe: one that fails behind the end sets the file to the size that this host
// knows of, which cuts off what others have written. Where lengths are kept with descriptors
// (forgets_lengths), these writes have one that the next sync closes.
bool PosixFile::write_past_cache(std::span<const std::byte> data, int64_t offset) {
  require_writable(path_, writable_);
  require_range(path_, offset, data.size());
  if (!is_fuse(file_system())) {
    const auto file = direct();
    return file && file->write_at(data, offset);
  }
  const auto file = forgets_lengths(file_system()) ? nullptr : written();
  if (!file) {
    write_at(data, offset);
    return true;
  }
  const Moved moved = move_all(data.size(), [&](size_t done, size_t count) {
    return ::pwrite(file->descriptor(), data.data() + done, count, offset + static_cast<int64_t>(done));
  });
  if (moved.bytes < data.size())
    throw os_error(
        "cannot write " + std::to_string(data.size()) + " bytes at offset " + std::to_string(offset) + " of",
        path_, moved.error ? moved.error : EIO);
  return true;
}

size_t PosixFile::read_past_cache(std::span<std::byte> data, int64_t offset) {
  require_range(path_, offset, data.size());
  if (const auto file = direct()) {
    const int64_t got = file->read_at(data, offset);
    if (got >= 0) return static_cast<size_t>(got);
  }
  return read_at(data, offset);
}

}  // namespace sheaf
