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
#include "storage/posix/posix_store.hpp"
#include "storage/range.hpp"
#include "storage/system/posix_transfer.hpp"

namespace sheaf {

namespace {

// Open flags of an access, and the message if the open fails.
struct AccessFlags {
  int flags;
  const char* failed;
};
constexpr AccessFlags way_of(Access access) {
  constexpr AccessFlags ways[] = {{O_RDONLY, "cannot open"},
                                  {O_RDWR, "cannot open for writing"},
                                  {O_RDWR | O_CREAT, "cannot create"},
                                  {O_RDWR | O_CREAT | O_EXCL, "cannot create"},
                                  {O_RDWR | O_NOFOLLOW, "cannot open for writing"}};
  return ways[static_cast<size_t>(access)];
}
static_assert(way_of(Access::sidecar).flags == (O_RDWR | O_NOFOLLOW));

// Return why a file counts as foreign, given the errno of its open or its status; null if it does not.
const char* foreign_by(int error) {
  if (error == ELOOP) return "is a symbolic link";
  if (error == EISDIR) return "is a directory";
  return error == ENXIO || error == ENODEV ? "is no regular file" : nullptr;
}
const char* foreign_by(const struct stat& found) {
  if (S_ISDIR(found.st_mode)) return foreign_by(EISDIR);
  if (!S_ISREG(found.st_mode)) return foreign_by(ENXIO);
  return found.st_nlink > 1 ? "has other names (hard links)" : nullptr;
}

// Throws invalid_argument for files without positions.
void require_positions(const std::string& path, const struct stat& found) {
  const char* const what = S_ISFIFO(found.st_mode) ? "pipe" : S_ISSOCK(found.st_mode) ? "socket" : nullptr;
  if (what)
    throw Error(Code::invalid_argument, "'" + path + "': is a " + what + ", not a regular file", ESPIPE);
}

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

}  // namespace

FileOpener by_name(const std::string& path, std::shared_ptr<const WorkingDirectory> directory) {
  return [path, directory = std::move(directory)](int flags) {
    return open_at(base_of(directory.get()), path, flags);
  };
}

// An open may block indefinitely: for the other end of a pipe or device, or for another process that holds a
// lease on a regular file.
PosixDescriptor open_descriptor(const std::string& path, Access access, const FileOpener& how,
                                int64_t* size) {
  const auto& [flags, failed] = way_of(access);
  const auto open = [&](int more) { return PosixDescriptor(how(flags | O_CLOEXEC | O_NOCTTY | more)); };
  // A file that this open creates is always regular.
  PosixDescriptor opened = open(access == Access::fresh ? 0 : O_NONBLOCK);
  struct stat found {};
  if (opened.get() < 0) {
    const int error = errno;
    if (const char* const why = access == Access::sidecar ? foreign_by(error) : nullptr)
      throw file_error(Code::foreign, path, why);
    if (access != Access::fresh && (error == ENXIO || error == EWOULDBLOCK)) {
      const PosixDescriptor there(how(O_PATH | O_CLOEXEC));
      if (::fstat(there.get(), &found) == 0) require_positions(path, found);
    }
    if (error == EWOULDBLOCK && access != Access::sidecar && S_ISREG(found.st_mode)) opened = open(0);
    if (opened.get() < 0) throw os_error(failed, path, error);
  }
  if (access == Access::fresh) return opened;
  const bool keeps = !opens_anew(kind_of_descriptor(opened.get()));
  const bool known = keeps ? status_of_server(opened.get(), found) : ::fstat(opened.get(), &found) == 0;
  if (const char* const why = known && access == Access::sidecar ? foreign_by(found) : nullptr)
    throw file_error(Code::foreign, path, why);
  if (known) require_positions(path, found);
  if (S_ISDIR(found.st_mode)) throw os_error(failed, path, EISDIR);
  ::fcntl(opened.get(), F_SETFL, 0);
  // This call keeps dirty pages, which hold the writes of this host.
  if (keeps) ::posix_fadvise(opened.get(), 0, 0, POSIX_FADV_DONTNEED);
  if (size && S_ISREG(found.st_mode)) *size = found.st_size;
  return opened;
}

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

bool PosixFile::evict() {
  if (writable_ || fd_.get() < 0 || ::fstat(fd_.get(), &rested_) != 0) return false;
  direct_.reset();  // reopened on demand
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
  direct_.reset();
  written_.reset();
  // Linux has released the descriptor even if it reports an error; after EINTR nothing is left to do.
  if (::close(fd_.release()) != 0 && errno != EINTR) throw os_error("cannot close", path_, errno);
}

}  // namespace sheaf
