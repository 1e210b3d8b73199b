#include "streams/preload/plain_stream.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/non_copyable.hpp"
#include "storage/times.hpp"
#include "streams/preload/own_descriptors.hpp"
#include "streams/preload/real.hpp"

namespace sheaf::preload {

using streams::ContainerStream;
using streams::StreamTarget;

namespace {

using WritePart = std::span<const std::byte>;

class PlainFileStream final : public ContainerStream, private NonCopyable {
 public:
  PlainFileStream(int fd, StreamTarget target) : fd_(fd), target_(std::move(target)) {}
  ~PlainFileStream() override { close_own_descriptor(fd_); }

  size_t read(std::span<std::byte> data, int64_t offset) override {
    size_t done = 0;
    while (done < data.size()) {
      const ssize_t n = pread64(fd_, data.data() + done, data.size() - done, offset + int64_t(done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail("cannot read");
      if (n == 0) break;
      done += size_t(n);
    }
    return done;
  }
  int64_t write(std::span<const WritePart> parts, int64_t offset, streams::WriteAt) override {
    return put(parts, "cannot write", [&](WritePart part, int64_t done) {
      return pwrite64(fd_, part.data(), part.size(), offset + done);
    });
  }
  streams::Appended append(std::span<const WritePart> parts) override {
    const int64_t bytes = put(parts, "cannot append to", [&](WritePart part, int64_t) {
      const iovec one{const_cast<std::byte*>(part.data()), part.size()};
      return pwritev2(fd_, &one, 1, -1, RWF_APPEND);
    });
    return {real::lseek(fd_, 0, SEEK_CUR) - bytes, bytes};
  }
  void truncate(int64_t size) override { require(ftruncate64(fd_, size), "cannot truncate"); }
  void allocate(int64_t offset, int64_t length, bool extend, Allocation what) override {
    require(fallocate64(fd_, mode_of(what, extend), offset, length), "cannot allocate room in");
  }
  streams::StreamStatus status() override {
    struct stat64 found;
    require(fstat64(fd_, &found), "cannot ask for the status of");
    return {target_.number,        found.st_size,     nanoseconds(found.st_mtim), nanoseconds(found.st_ctim),
            found.st_mode & 07777, found.st_nlink > 0};
  }
  void set(const streams::StreamAttributes& attributes) override {
    if (attributes.mode) require(fchmod(fd_, *attributes.mode), "cannot change the mode of");
    if (!attributes.modified) return;
    const timespec time = time_of(*attributes.modified);
    const timespec times[2] = {time, time};
    require(futimens(fd_, times), "cannot set the time of");
  }
  std::string name() override { return {}; }
  std::string plain_path() override { return target_.path; }
  std::optional<int64_t> next_data(int64_t offset) override { return next(offset, SEEK_DATA); }
  std::optional<int64_t> next_hole(int64_t offset) override { return next(offset, SEEK_HOLE); }
  void flush() override {}
  void sync() override { require(fsync(fd_), "cannot sync"); }

 private:
  // Writes all parts and returns the number of bytes written. Calls call(bytes, done) until all bytes are
  // written. `call` must write some of `bytes` and return what write(2) returns; `done` is the number of
  // bytes written before. If a call fails before any byte was written, throws an error that begins with
  // `doing`. A later failure only shortens the result.
  template <class Call>
  int64_t put(std::span<const WritePart> parts, const char* doing, Call&& call) const {
    int64_t done = 0;
    for (WritePart part : parts)
      while (!part.empty()) {
        const ssize_t n = call(part, done);
        if (n < 0 && errno != EINTR && done > 0) return done;
        if (n < 0 && errno != EINTR) fail(doing);
        if (n <= 0) continue;
        done += n;
        part = part.subspan(size_t(n));
      }
    return done;
  }
  [[noreturn]] void fail(const char* doing) const { throw os_error(doing, target_.path, errno); }
  void require(int result, const char* doing) const {
    if (result != 0) fail(doing);
  }
  std::optional<int64_t> next(int64_t offset, int whence) const {
    const off64_t place = real::lseek(fd_, offset, whence);
    return place < 0 ? std::nullopt : std::optional<int64_t>(place);
  }

  const int fd_;
  const StreamTarget target_;
};

// Opens the file for reading and writing, or for only one of them if the permissions allow no more. Returns a
// descriptor, or -1 with errno. Does not need the access mode of the program's open, because the entry points
// check that mode before they call the stream.
int open_as_allowed(const char* path) {
  for (const int mode : {O_RDWR, O_RDONLY, O_WRONLY}) {
    const int fd = real::open(path, mode | O_NOFOLLOW | O_CLOEXEC, 0);
    if (fd >= 0 || errno != EACCES) return fd;
  }
  return -1;
}

}  // namespace

std::shared_ptr<ContainerStream> open_plain_stream(const StreamTarget& target) {
  const int fd = own_descriptor(open_as_allowed(target.path.c_str()));
  if (fd < 0) throw os_error("cannot open", target.path, errno == ENOENT ? ESTALE : errno);
  struct stat64 found;
  if (fstat64(fd, &found) != 0 || found.st_dev != target.device || found.st_ino != target.number) {
    close_own_descriptor(fd);
    throw os_error("was replaced, and nobody knows where to go on:", target.path, ESTALE);
  }
  return std::make_shared<PlainFileStream>(fd, target);
}

}  // namespace sheaf::preload
