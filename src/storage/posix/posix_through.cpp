// storage/posix/posix_file: operations for hosts that share no page cache.
#include <fcntl.h>
#include <sys/stat.h>
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

// Fills `found` as fstat(2) does, without calling it: fstat(2) may cost another message. Uses fstat(2) only
// on systems without statx(2).
bool status_of_server(int fd, struct stat& found) {
  struct statx there;
  if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &there) != 0)
    return errno == ENOSYS && ::fstat(fd, &found) == 0;
  found.st_mode = there.stx_mode;
  found.st_nlink = there.stx_nlink;
  found.st_size = static_cast<off_t>(there.stx_size);
  return true;
}

// Opens the name of the file again. Returns a negative number if the name now belongs to another file, or to
// none.
int PosixFile::open_beside_own(int flags) const {
  PosixDescriptor opened(how_(flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (opened.get() < 0 || are_one_file(opened.get(), fd_.get())) return opened.release();
  errno = ESTALE;
  return -1;
}

std::shared_ptr<DirectFile> PosixFile::open_direct() {
  const int access = writable_ && !is_fuse(file_system()) ? O_RDWR : O_RDONLY;
  int fd = open_beside_own(access | O_DIRECT);
  const bool refused = fd < 0 && errno == EINVAL;
  if (refused) fd = open_beside_own(access);
  return fd < 0 ? nullptr : std::make_shared<DirectFile>(fd, !refused, path_);
}

std::shared_ptr<DirectFile> PosixFile::direct() {
  const std::lock_guard lock(direct_mutex_);
  if (!direct_) direct_ = open_direct();
  return direct_;
}

std::shared_ptr<PosixDescriptor> PosixFile::written() {
  const std::lock_guard lock(direct_mutex_);
  if (!written_)
    if (const int fd = open_beside_own(O_RDWR); fd >= 0) written_ = std::make_shared<PosixDescriptor>(fd);
  return written_;
}

void PosixFile::sync_written() {
  std::unique_lock lock(direct_mutex_);
  const auto file = std::exchange(written_, nullptr);
  lock.unlock();
  if (file) sync_descriptor(file->get(), path_);
}

void PosixFile::know(FileSystem kind) {
  if (is_fuse(kind)) file_system_ = static_cast<int>(kind);
}

// Publishes by closing a duplicate of the descriptor if that suffices, else by fsync(2). On GlusterFS, a
// query of the attributes would suffice, but it makes the kernel drop the pages of the file.
void PosixFile::publish() {
  sync_written();
  const int again = closes_publish(file_system()) ? ::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0) : -1;
  const int error = again < 0 || ::close(again) == 0 ? 0 : errno;
  if (again >= 0 && error == 0) return;
  if ((error != 0 && error != EINTR) || uninterrupted([&] { return ::fsync(fd_.get()); }) != 0)
    throw os_error("cannot sync", path_, errno);
}

// GlusterFS updates its attributes with the reply to fsync, MooseFS when a file is opened. Dropping the pages
// and querying the attributes again discards the kernel's cached state. The descriptor stays open, because it
// holds the locks.
int64_t PosixFile::revalidate_cache(bool opens) {
  sync_written();
  if (uninterrupted([&] { return ::fsync(fd_.get()); }) != 0 && errno != EINVAL && errno != EROFS)
    throw os_error("cannot sync", path_, errno);
  ::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED);
  if (opens) {
    const std::lock_guard lock(direct_mutex_);
    if (auto again = open_direct()) direct_ = std::move(again);
  }
  struct stat found;
  if (!status_of_server(fd_.get(), found)) throw os_error("cannot get the status of", path_, errno);
  return static_cast<int64_t>(found.st_nlink);
}

// FUSE forwards exactly the bytes of a write unless mounted with a write-back cache. Direct writes are no
// better on FUSE, and unsafe. If a direct write beyond the end of the file fails, FUSE truncates the file to
// the size known to this host, which cuts off bytes of other hosts. If descriptors keep lengths
// (!forgets_lengths()), the writes use a descriptor that the next sync closes.
bool PosixFile::write_directly(std::span<const std::byte> data, int64_t offset) {
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
  require_moved("write", path_, offset, data.size(), write_all(file->get(), data, offset).error);
  return true;
}

size_t PosixFile::read_directly(std::span<std::byte> data, int64_t offset) {
  require_range(path_, offset, data.size());
  if (const auto file = direct()) {
    const int64_t got = file->read_at(data, offset);
    if (got >= 0) return static_cast<size_t>(got);
  }
  return read_at(data, offset);
}

}  // namespace sheaf
