// storage/posix/posix_file: the system calls on an open file.
#include "storage/posix/posix_file.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "base/report/trace.hpp"
#include "storage/posix/posix_store.hpp"
#include "storage/range.hpp"
#include "storage/system/posix_transfer.hpp"

namespace sheaf {

namespace {

// Removes the first `bytes` bytes from the list that starts at `first`; returns the new first element.
size_t skip(std::span<iovec> list, size_t first, size_t bytes) {
  while (first < list.size() && bytes >= list[first].iov_len) bytes -= list[first++].iov_len;
  if (bytes > 0) {
    list[first].iov_base = static_cast<char*>(list[first].iov_base) + bytes;
    list[first].iov_len -= bytes;
  }
  return first;
}

// Writes segments of which each begins where the preceding one ends.
void write_run(int fd, std::span<const Piece<const std::byte>> pieces, const std::string& path) {
  const int64_t offset = pieces.front().offset;
  std::array<iovec, 4> few;  // enough for the segments of a stream
  std::vector<iovec> many(pieces.size() > few.size() ? pieces.size() : 0);
  std::span<iovec> list = many.empty() ? std::span<iovec>(few) : many;
  size_t used = 0;
  size_t total = 0;
  for (const auto& [at, bytes] : pieces) {
    total += bytes.size();
    if (!bytes.empty()) list[used++] = {const_cast<std::byte*>(bytes.data()), bytes.size()};
  }
  list = list.first(used);
  size_t first = 0;
  size_t skipped = 0;
  const TraceEvent event("write", offset, static_cast<int64_t>(total));
  const Moved moved = move_all(total, [&](size_t done, size_t) {
    first = skip(list, first, done - skipped);
    skipped = done;
    const auto count = static_cast<int>(std::min<size_t>(list.size() - first, IOV_MAX));
    return ::pwritev(fd, list.data() + first, count, offset + static_cast<int64_t>(done));
  });
  const bool stuck = moved.error == 0 && moved.bytes < total;
  require_moved("write", path, offset, total, stuck ? EIO : moved.error);
}

// ext4 writes a file to disk at a close that follows a truncation to zero (auto_da_alloc, for programs that
// replace files this way). That close takes as long as writing all data. Closing any descriptor of the file
// before data are written avoids it.
void close_another(int fd) {
  const std::string again = "/proc/self/fd/" + std::to_string(fd);
  const PosixDescriptor another(open_at(AT_FDCWD, again, O_WRONLY | O_NOCTTY));
}

bool are_one_file(int a, int b) {
  struct stat one, other;
  return ::fstat(a, &one) == 0 && ::fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

}  // namespace

PosixFile::PosixFile(const std::string& path, Access access, FileOpener how,
                     std::shared_ptr<const WorkingDirectory> directory)
    : path_(path),
      how_(std::move(how)),
      directory_(std::move(directory)),
      fd_(open_descriptor(path, access, how_, access == Access::read ? &opened_size_ : nullptr)),
      writable_(access != Access::read),
      name_unsynced_(access == Access::create || access == Access::fresh) {}

FileDescriptor PosixFile::descriptor(DescriptorKind kind) {
  if (kind == DescriptorKind::file) return {fd_.get(), nullptr};
  const Access access = kind == DescriptorKind::writer ? Access::write : Access::read;
  return {open_descriptor(path_, access, how_).release(), nullptr};
}

void PosixFile::write_at(std::span<const std::byte> data, int64_t offset) {
  require_writable(path_, writable_);
  require_range(path_, offset, data.size());
  const TraceEvent event("write", offset, std::ssize(data));
  require_moved("write", path_, offset, data.size(), write_all(fd_.get(), data, offset).error);
}

FileSystem PosixFile::file_system() {
  int known = file_system_;
  if (known < 0) file_system_ = known = static_cast<int>(kind_of_descriptor(fd_.get()));
  return static_cast<FileSystem>(known);
}

void PosixFile::write_pieces(std::span<const Piece<const std::byte>> pieces) {
  require_writable(path_, writable_);
  for (const auto& piece : pieces) require_range(path_, piece.offset, piece.memory.size());
  // Sorted pieces must not overlap. Unsorted pieces are not checked.
  SHEAF_DEBUG_ASSERT(!std::ranges::is_sorted(pieces, {}, &Piece<const std::byte>::offset) ||
                     std::ranges::adjacent_find(pieces, [](const auto& one, const auto& next) {
                       return one.end() > next.offset && !next.memory.empty();
                     }) == pieces.end());
  while (!pieces.empty()) {
    size_t run = 1;
    while (run < pieces.size() && pieces[run].offset == pieces[run - 1].end()) ++run;
    write_run(fd_.get(), pieces.first(run), path_);
    pieces = pieces.subspan(run);
  }
}

size_t PosixFile::read_at(std::span<std::byte> data, int64_t offset) {
  require_range(path_, offset, data.size());
  const TraceEvent event("read", offset, std::ssize(data));
  const Moved moved = read_all(fd_.get(), data, offset);
  require_moved("read", path_, offset, data.size(), moved.error);
  return moved.bytes;
}

FileStatus PosixFile::status() {
  struct stat found;
  if (::fstat(fd_.get(), &found) != 0) throw os_error("cannot get the status of", path_, errno);
  return status_of(found);
}

void PosixFile::resize(int64_t size) {
  require_writable(path_, writable_);
  require_range(path_, size, 0);
  if (uninterrupted([&] { return ::ftruncate(fd_.get(), size); }) != 0)
    throw os_error("cannot set to " + std::to_string(size) + " bytes the size of", path_, errno);
  if (size == 0 && file_system() == FileSystem::ext4) close_another(fd_.get());
}

void PosixFile::sync() {
  const TraceEvent event("sync");
  sync_written();
  sync_descriptor(fd_.get(), path_);
  if (name_unsynced_) sync_directory_of(path_, directory_.get());
  name_unsynced_ = false;
}

int64_t PosixFile::next(Space space, int64_t offset) {
  require_range(path_, offset, 0);
  const off_t found = ::lseek(fd_.get(), offset, space == Space::data ? SEEK_DATA : SEEK_HOLE);
  if (found >= 0) return found;
  if (space == Space::hole) return std::max(offset, status().size);
  if (errno == ENXIO) return status().size;
  if (errno == EINVAL || errno == EOPNOTSUPP) return offset;
  throw os_error("cannot look for data at offset " + std::to_string(offset) + " of", path_, errno);
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
  const std::lock_guard lock(uncached_.mutex);
  if (!uncached_.direct) uncached_.direct = open_direct();
  return uncached_.direct;
}

std::shared_ptr<PosixDescriptor> PosixFile::written() {
  const std::lock_guard lock(uncached_.mutex);
  if (!uncached_.written)
    if (const int fd = open_beside_own(O_RDWR); fd >= 0)
      uncached_.written = std::make_shared<PosixDescriptor>(fd);
  return uncached_.written;
}

void PosixFile::sync_written() {
  std::unique_lock lock(uncached_.mutex);
  const auto file = std::exchange(uncached_.written, nullptr);
  lock.unlock();
  if (file) sync_descriptor(file->get(), path_);
}

void PosixFile::know(FileSystem kind) {
  if (is_fuse(kind)) file_system_ = static_cast<int>(kind);
}

// Publishes by closing a duplicate of the descriptor if that suffices, else by fsync(2). On GlusterFS, a
// query of the attributes would suffice, but it makes the kernel drop the pages of the file.
void PosixFile::publish() {
  const TraceEvent event("publish");
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
  const TraceEvent event("revalidate");
  sync_written();
  if (uninterrupted([&] { return ::fsync(fd_.get()); }) != 0 && errno != EINVAL && errno != EROFS)
    throw os_error("cannot sync", path_, errno);
  ::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED);
  if (opens) {
    const std::lock_guard lock(uncached_.mutex);
    if (auto again = open_direct()) uncached_.direct = std::move(again);
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
  const TraceEvent event("write", offset, std::ssize(data));
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

bool PosixFile::evict() {
  if (writable_ || fd_.get() < 0 || ::fstat(fd_.get(), &rested_) != 0) return false;
  uncached_.direct.reset();  // reopened on demand
  fd_ = PosixDescriptor();
  return true;
}

// Some file systems assign new inode numbers on every open; size and modification time then identify the
// file.
void PosixFile::reopen() {
  PosixDescriptor again = open_descriptor(path_, Access::read, how_);
  struct stat now;
  const bool known = ::fstat(again.get(), &now) == 0;
  const bool same = known && now.st_dev == rested_.st_dev && now.st_ino == rested_.st_ino;
  const bool alike = known && now.st_size == rested_.st_size &&
                     now.st_mtim.tv_sec == rested_.st_mtim.tv_sec &&
                     now.st_mtim.tv_nsec == rested_.st_mtim.tv_nsec;
  if (!same && !alike)
    throw Error(
        Code::io,
        "'" + path_ + "': another file has got this name since it was opened; open the multifile again",
        ESTALE);
  fd_ = std::move(again);
}

void PosixFile::close() {
  if (fd_.get() < 0) return;
  uncached_.direct.reset();
  uncached_.written.reset();
  // Linux has released the descriptor even if it reports an error; after EINTR nothing is left to do.
  if (::close(fd_.release()) != 0 && errno != EINTR) throw os_error("cannot close", path_, errno);
}

}  // namespace sheaf
