// storage/posix/posix_file: the system calls behind an open file.
#include "storage/posix/posix_file.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "storage/posix/posix_store.hpp"
#include "storage/range.hpp"
#include "storage/system/posix_transfer.hpp"

namespace sheaf {

namespace {

int flags_of(Access access) {
  switch (access) {
    case Access::read:
      return O_RDONLY | O_CLOEXEC;
    case Access::write:
      return O_RDWR | O_CLOEXEC;
    case Access::create:
      return O_RDWR | O_CREAT | O_CLOEXEC;
    case Access::fresh:
      return O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
    case Access::beside:
      return O_RDWR | O_NOFOLLOW | O_CLOEXEC;
  }
  return O_RDONLY | O_CLOEXEC;
}

const char* failed_open(Access access) {
  if (access == Access::read) return "cannot open";
  return access == Access::write || access == Access::beside ? "cannot open for writing" : "cannot create";
}

// What makes a file another one's, by the errno of its open or by what it is; null: nothing.
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

// Throws unless a transfer of `length` bytes at `offset` is complete. `verb` is "read" or "write".
void require_success(const char* verb, const std::string& path, int64_t offset, size_t length, int error) {
  if (error != 0)
    throw os_error("cannot " + std::string(verb) + " " + std::to_string(length) + " bytes at offset " +
                       std::to_string(offset) + " of",
                   path, error);
}

// Throws invalid_argument for what knows no positions.
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

}  // namespace

int open_descriptor(const std::string& path, Access access, const WorkingDirectory* directory,
                    int64_t* size) {
  const int base = base_of(directory);
  return open_descriptor(
      path, access,
      {[&](int flags) { return uninterrupted([&] { return ::openat(base, path.c_str(), flags, 0666); }); },
       [&](struct stat& found) { return ::fstatat(base, path.c_str(), &found, 0) == 0; }},
      size);
}

// An open may wait without end for the other side of a pipe or device, and for somebody who has a lease on a
// regular file.
int open_descriptor(const std::string& path, Access access, const Opening& how, int64_t* size) {
  const auto open = [&](int more) { return how.open(flags_of(access) | O_NOCTTY | more); };
  struct stat found {};
  if (access == Access::fresh) {  // then it is a regular file
    const int fd = open(0);
    if (fd < 0) throw os_error(failed_open(access), path, errno);
    return fd;
  }
  int fd = open(O_NONBLOCK);
  if (fd < 0) {
    const int error = errno;
    if (const char* const why = access == Access::beside ? foreign_by(error) : nullptr)
      throw file_error(Code::foreign, path, why);
    if ((error == ENXIO || error == EWOULDBLOCK) && how.status(found)) require_positions(path, found);
    if (error == EWOULDBLOCK && access != Access::beside && S_ISREG(found.st_mode)) fd = open(0);
    if (fd < 0) throw os_error(failed_open(access), path, error);
  }
  const bool keeps = !opens_anew(kind_of_descriptor(fd));
  try {
    const bool known = keeps ? status_of_server(fd, found) : ::fstat(fd, &found) == 0;
    if (const char* const why = known && access == Access::beside ? foreign_by(found) : nullptr)
      throw file_error(Code::foreign, path, why);
    if (known) require_positions(path, found);
    if (S_ISDIR(found.st_mode)) throw os_error(failed_open(access), path, EISDIR);
  } catch (...) {
    ::close(fd);
    throw;
  }
  ::fcntl(fd, F_SETFL, 0);
  if (keeps) ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);  // dirty pages stay: they are this host's own
  if (size && S_ISREG(found.st_mode)) *size = found.st_size;
  return fd;
}

PosixFile::PosixFile(const std::string& path, Access access,
                     std::shared_ptr<const WorkingDirectory> directory)
    : path_(path),
      directory_(std::move(directory)),
      fd_(open_descriptor(path, access, directory_.get(), access == Access::read ? &opened_size_ : nullptr)),
      writable_(access != Access::read),
      name_unsynced_(access == Access::create || access == Access::fresh) {}

PosixFile::PosixFile(const std::string& path, Access access,
                     std::shared_ptr<const WorkingDirectory> directory, Opening how)
    : path_(path),
      how_(std::move(how)),
      directory_(std::move(directory)),
      fd_(open_descriptor(path, access, how_, access == Access::read ? &opened_size_ : nullptr)),
      writable_(access != Access::read),
      name_unsynced_(access == Access::create || access == Access::fresh) {}

PosixFile::~PosixFile() {
  if (fd_ >= 0) ::close(fd_);
}

FileDescriptor PosixFile::descriptor(Whose whose) {
  return {whose == Whose::file ? fd_ : open_again(whose == Whose::writer), nullptr};
}

int PosixFile::open_again(bool writable) const {
  const Access access = writable ? Access::write : Access::read;
  return how_.open ? open_descriptor(path_, access, how_) : open_descriptor(path_, access, directory_.get());
}

void PosixFile::write_at(std::span<const std::byte> data, int64_t offset) {
  require_writable(path_, writable_);
  require_range(path_, offset, data.size());
  const Moved moved = move_all(data.size(), [&](size_t done, size_t count) {
    return ::pwrite(fd_, data.data() + done, count, offset + static_cast<int64_t>(done));
  });
  const bool stuck = moved.error == 0 && moved.bytes < data.size();
  require_success("write", path_, offset, data.size(), stuck ? EIO : moved.error);
}

FileSystem PosixFile::file_system() {
  int known = file_system_;
  if (known < 0) file_system_ = known = static_cast<int>(kind_of_descriptor(fd_));
  return static_cast<FileSystem>(known);
}

void PosixFile::write_pieces(std::span<const Piece<const std::byte>> pieces) {
  require_writable(path_, writable_);
  for (const auto& piece : pieces) require_range(path_, piece.offset, piece.memory.size());
  while (!pieces.empty()) {
    size_t run = 1;
    while (run < pieces.size() && pieces[run].offset == pieces[run - 1].end()) ++run;
    write_run(pieces.first(run));
    pieces = pieces.subspan(run);
  }
}

// Each piece begins where the one before ends.
void PosixFile::write_run(std::span<const Piece<const std::byte>> pieces) {
  const int64_t offset = pieces.front().offset;
  std::array<iovec, 4> few;  // as many as streams have
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
    return ::pwritev(fd_, list.data() + first, count, offset + static_cast<int64_t>(done));
  });
  const bool stuck = moved.error == 0 && moved.bytes < total;
  require_success("write", path_, offset, total, stuck ? EIO : moved.error);
}

size_t PosixFile::read_at(std::span<std::byte> data, int64_t offset) {
  require_range(path_, offset, data.size());
  const Moved moved = move_all(data.size(), [&](size_t done, size_t count) {
    return ::pread(fd_, data.data() + done, count, offset + static_cast<int64_t>(done));
  });
  require_success("read", path_, offset, data.size(), moved.error);
  return moved.bytes;
}

FileStatus PosixFile::status() {
  struct stat found;
  if (::fstat(fd_, &found) != 0) throw os_error("cannot get the status of", path_, errno);
  return status_of(found);
}

void PosixFile::resize(int64_t size) {
  require_writable(path_, writable_);
  require_range(path_, size, 0);
  if (uninterrupted([&] { return ::ftruncate(fd_, size); }) != 0)
    throw os_error("cannot set to " + std::to_string(size) + " bytes the size of", path_, errno);
  if (size == 0 && file_system() == FileSystem::ext4) close_another();
}

// ext4 writes a file to disk when it is closed after it was made empty (auto_da_alloc, for programs that
// replace files so): the close then takes as long as all its data. Any descriptor that is closed while there
// are none takes the mark away.
void PosixFile::close_another() {
  const std::string again = "/proc/self/fd/" + std::to_string(fd_);
  if (const int fd = ::open(again.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY); fd >= 0) ::close(fd);
}

void PosixFile::sync() {
  sync_written();
  if (uninterrupted([&] { return ::fsync(fd_); }) != 0) throw os_error("cannot sync", path_, errno);
  if (name_unsynced_) sync_directory_of(path_, directory_.get());
  name_unsynced_ = false;
}

int64_t PosixFile::next(Space space, int64_t offset) {
  require_range(path_, offset, 0);
  const off_t found = ::lseek(fd_, offset, space == Space::data ? SEEK_DATA : SEEK_HOLE);
  if (found >= 0) return found;
  if (space == Space::hole) return std::max(offset, status().size);
  if (errno == ENXIO) return status().size;
  if (errno == EINVAL || errno == EOPNOTSUPP) return offset;
  throw os_error("cannot look for data at offset " + std::to_string(offset) + " of", path_, errno);
}

bool PosixFile::rest() {
  if (writable_ || fd_ < 0 || ::fstat(fd_, &rested_) != 0) return false;
  ::close(std::exchange(fd_, -1));
  return true;
}

// Some file systems number their files anew whenever they are opened: then size and time tell.
void PosixFile::wake() {
  const int again = open_again(false);
  struct stat now;
  const bool known = ::fstat(again, &now) == 0;
  const bool same = known && now.st_dev == rested_.st_dev && now.st_ino == rested_.st_ino;
  const bool alike = known && now.st_size == rested_.st_size &&
                     now.st_mtim.tv_sec == rested_.st_mtim.tv_sec &&
                     now.st_mtim.tv_nsec == rested_.st_mtim.tv_nsec;
  if (!same && !alike) {
    ::close(again);
    throw Error(
        Code::io,
        "'" + path_ + "': another file has got this name since it was opened; open the multifile again",
        ESTALE);
  }
  fd_ = again;
}

void PosixFile::close() {
  if (fd_ < 0) return;
  const int fd = fd_;
  fd_ = -1;
  direct_.reset();
  written_.reset();
  // Linux has released the descriptor even when it reports an error; EINTR leaves nothing undone.
  if (::close(fd) != 0 && errno != EINTR) throw os_error("cannot close", path_, errno);
}

}  // namespace sheaf
