// storage/stdio_handle: keeps the positions of stdio and of the kernel equal.
//
// fflush makes the positions equal: it writes pending output, moves the descriptor back over read-ahead, and
// makes glibc query the kernel's position at the next use. An lseek on the descriptor then moves both
// positions. fseeko does not work on the own stream: on an input stream, glibc reads ahead to a page boundary
// and leaves the descriptor there.
#include "storage/stdio_handle.hpp"

#include <fcntl.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "storage/range.hpp"
#include "storage/system/posix_transfer.hpp"

namespace sheaf {

namespace {

void flush_second(FILE* stream, const std::string& path) {
  if (std::fflush(stream) != 0) throw os_error("cannot flush the second stream on", path, errno);
}

}  // namespace

StdioHandle::StdioHandle(File& file, bool writable, bool with_stream)
    : path_(file.path()),
      fd_(file.descriptor(writable ? DescriptorKind::writer : DescriptorKind::reader).number) {
  if (!with_stream) return;
  own_ = ::fdopen(fd_, writable ? "r+" : "r");
  if (own_ == nullptr) {
    const int error = errno;
    ::close(fd_);
    throw os_error("cannot make a stream of", path_, error);
  }
  if (writable) witness_ = PosixDescriptor(::fcntl(fd_, F_DUPFD_CLOEXEC, 0));
}

int64_t StdioHandle::position() {
  flush();
  const off_t found = second_ != nullptr ? ::ftello(second_) : ::lseek(fd_, 0, SEEK_CUR);
  if (found < 0) throw os_error("cannot get the position in", path_, errno);
  return found;
}

void StdioHandle::move_to(int64_t position) {
  require_range(path_, position, 0);
  if (second_ != nullptr) {
    if (::fseeko(second_, position, SEEK_SET) != 0)
      throw os_error("cannot move to offset " + std::to_string(position) + " of", path_, errno);
    std::clearerr(second_);
    return;
  }
  flush();
  // Keeps the error flag of a stream that writes: it reports to the program that bytes are lost.
  const bool stays = witness_.get() >= 0 && std::ferror(own_) != 0;
  if (own_ != nullptr && !stays) std::clearerr(own_);
  if (::lseek(fd_, position, SEEK_SET) < 0)
    throw os_error("cannot move to offset " + std::to_string(position) + " of", path_, errno);
}

size_t StdioHandle::write(std::span<const std::byte> data) {
  if (FILE* const stream = stream_in_use()) return std::fwrite(data.data(), 1, data.size(), stream);
  return noted(move_all(data.size(),
                        [&](size_t done, size_t count) { return ::write(fd_, data.data() + done, count); }));
}

size_t StdioHandle::read(std::span<std::byte> data) {
  if (FILE* const stream = stream_in_use()) return std::fread(data.data(), 1, data.size(), stream);
  return noted(move_all(data.size(),
                        [&](size_t done, size_t count) { return ::read(fd_, data.data() + done, count); }));
}

void StdioHandle::set_buffer(size_t bytes) {
  if (own_ == nullptr) return;
  flush_own();
  auto buffer = bytes > 0 ? std::make_unique<char[]>(bytes) : nullptr;
  if (std::setvbuf(own_, buffer.get(), bytes > 0 ? _IOFBF : _IONBF, bytes) != 0)
    throw Error(Code::io, "cannot set the buffer of the stream on '" + path_ + "'");
  buffer_ = std::move(buffer);
}

void StdioHandle::flush() {
  if (second_ != nullptr) {
    flush_second(second_, path_);
  } else if (own_ != nullptr) {
    flush_own();
  }
}

void StdioHandle::flush_own() {
  // After ungetc, fflush computes a wrong position, but ftello does not.
  const off_t reading_at = ::__freading(own_) != 0 ? ::ftello(own_) : -1;
  if (reading_at >= 0) ::__fpurge(own_);
  if (std::fflush(own_) != 0) throw os_error("cannot flush the stream on", path_, errno);
  if (reading_at >= 0 && ::lseek(fd_, reading_at, SEEK_SET) < 0)
    throw os_error("cannot give back what was read ahead of", path_, errno);
}

void StdioHandle::sync() {
  flush();
  const int second = second_ != nullptr ? ::fileno(second_) : -1;
  for (const int fd : {fd_, second})
    if (fd >= 0) sync_descriptor(fd, path_);
}

bool StdioHandle::failed() const {
  FILE* const stream = stream_in_use();
  return stream != nullptr ? std::ferror(stream) != 0 : transfer_failed_;
}

void StdioHandle::close() {
  if (const int error = release(); error != 0) throw os_error("cannot close", path_, error);
}

int StdioHandle::release() {
  FILE* const stream = std::exchange(own_, nullptr);
  const int fd = std::exchange(fd_, -1);
  second_ = nullptr;
  witness_ = PosixDescriptor();
  if (!stream) {
    const bool failed = fd >= 0 && ::close(fd) != 0 && errno != EINTR;
    return failed ? errno : 0;
  }
  const int error = std::fclose(stream) != 0 ? errno : 0;
  buffer_.reset();
  return error;
}

std::optional<int64_t> StdioHandle::forget() {
  FILE* const own = std::exchange(own_, nullptr);
  const bool second_closed = std::exchange(second_, nullptr) != nullptr;
  if (second_closed) std::fclose(own);
  fd_ = -1;
  const PosixDescriptor witness = std::move(witness_);
  const off_t found = second_closed ? -1 : ::lseek(witness.get(), 0, SEEK_CUR);
  return found >= 0 ? std::optional<int64_t>(found) : std::nullopt;
}

void StdioHandle::use_stream(FILE* second) {
  if (second == nullptr) throw Error(Code::invalid_argument, "no stream given for '" + path_ + "'");
  flush();
  second_ = second;
}

void StdioHandle::use_own_stream() {
  if (second_ == nullptr) return;
  flush_second(std::exchange(second_, nullptr), path_);
}

}  // namespace sheaf
