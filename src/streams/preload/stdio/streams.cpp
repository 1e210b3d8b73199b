#include "streams/preload/stdio/streams.hpp"

#include <fcntl.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

#include "streams/preload/descriptors.hpp"
#include "streams/preload/duplicates.hpp"
#include "streams/preload/errors.hpp"
#include "streams/preload/fork_mutex.hpp"
#include "streams/preload/opening.hpp"
#include "streams/preload/real.hpp"
#include "streams/preload/stdio/cxx_streams.hpp"
#include "streams/preload/stdio/standard_streams.hpp"

namespace sheaf::preload {

namespace {

// More bits of FILE::_flags, beside those in streams.hpp.
constexpr int unbuffered = 0x2, by_lines = 0x200, no_reads = 0x4, no_writes = 0x8, putting = 0x800,
              appending = 0x1000;

struct StdioStream {
  int fd;
  FILE* file;
  int orientation = 0;  // as in fwide(3); not updated by byte reads and writes
};

constinit ForkMutex lock{Guards::streams};
std::vector<StdioStream*>& all() {
  static auto* const streams = new std::vector<StdioStream*>;
  return *streams;
}

StdioStream* find(FILE* file) {
  const Inside inside;
  const std::lock_guard guard(lock);
  const auto at =
      std::find_if(all().begin(), all().end(), [file](const StdioStream* one) { return one->file == file; });
  return at == all().end() ? nullptr : *at;
}

// Calls this library's own read(), because the descriptor may refer to a plain file by now.
ssize_t read_stream(void* cookie, char* data, size_t size) {
  return read(static_cast<StdioStream*>(cookie)->fd, data, size);
}

// Returns the number of bytes written, which is less than `size` on error. fopencookie(3) forbids -1.
ssize_t write_stream(void* cookie, const char* data, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t n = write(static_cast<StdioStream*>(cookie)->fd, data + done, size - done);
    if (n <= 0) break;
    done += size_t(n);
  }
  return ssize_t(done);
}

int seek_stream(void* cookie, off64_t* offset, int whence) {
  const off64_t place = lseek64(static_cast<StdioStream*>(cookie)->fd, *offset, whence);
  if (place < 0) return -1;
  *offset = place;
  return 0;
}

int close_stream(void* cookie) {
  auto* const stream = static_cast<StdioStream*>(cookie);
  {
    const Inside inside;
    const std::lock_guard guard(lock);
    std::erase(all(), stream);
  }
  const int fd = stream->fd;
  delete stream;
  return close_descriptor(fd);
}

int access_bits(int flags) {
  const int mode = flags & O_ACCMODE;
  return (mode == O_WRONLY ? no_reads : 0) | (mode == O_RDONLY ? no_writes : 0) |
         (flags & O_APPEND ? appending : 0);
}

}  // namespace

std::optional<StreamMode> stream_mode(const char* text) noexcept {
  StreamMode mode;
  switch (*text) {
    case 'r':
      mode.flags = O_RDONLY;
      break;
    case 'w':
      mode.flags = O_WRONLY | O_CREAT | O_TRUNC;
      break;
    case 'a':
      mode.flags = O_WRONLY | O_CREAT | O_APPEND;
      break;
    default:
      return std::nullopt;
  }
  mode.words[0] = *text;
  for (const char* c = text + 1; *c && *c != ','; ++c) {
    if (*c == '+') {
      mode.flags = (mode.flags & ~O_ACCMODE) | O_RDWR;
      mode.words[1] = '+';
    } else if (*c == 'x') {
      mode.flags |= O_EXCL;
    } else if (*c == 'e') {
      mode.flags |= O_CLOEXEC;
    }
  }
  return mode;
}

void go_to_end(int fd, const StreamMode& mode) {
  if ((mode.flags & O_APPEND) && !(mode.flags & O_RDWR)) lseek64(fd, 0, SEEK_END);
}

FILE* make_stream(int fd, const StreamMode& mode) {
  auto* const stream = new (std::nothrow) StdioStream{fd, nullptr, 0};
  if (!stream) return errno = ENOMEM, nullptr;
  const cookie_io_functions_t functions{read_stream, write_stream, seek_stream, close_stream};
  stream->file = fopencookie(stream, mode.words, functions);
  if (!stream->file) {
    delete stream;
    return nullptr;
  }
  stream->file->_fileno = fd;
  go_to_end(fd, mode);
  const Inside inside;
  const std::lock_guard guard(lock);
  const int error = errno_of([&] { all().push_back(stream); });
  return error == 0 ? stream->file : (errno = error, nullptr);
}

bool is_ours(FILE* stream) noexcept { return find(stream) != nullptr; }

int orient_stream(FILE* file, int mode) {
  StdioStream* const stream = find(file);
  if (!stream) return 0;
  const bool bytes = (file->_flags & putting) || file->_IO_read_end != file->_IO_read_base;
  if (stream->orientation == 0) stream->orientation = bytes || mode < 0 ? -1 : int(mode > 0);
  return stream->orientation;
}

void give_back_unread() noexcept {
  std::vector<FILE*> files;
  errno_of([&] {
    const Inside inside;
    const std::lock_guard guard(lock);
    for (const StdioStream* const one : all()) files.push_back(one->file);
  });
  for (FILE* const file : files) {
    if (ftrylockfile(file) != 0) continue;  // skip a stream that a blocked reader has locked
    fflush_unlocked(file);
    funlockfile(file);
  }
}

FILE* reopen_stream(FILE* file, const char* path, const StreamMode& mode) {
  StdioStream* const stream = find(file);
  if (!stream) return errno = EBADF, nullptr;
  fflush(file);
  const int wanted = stream->fd;
  const DescriptorPath same(wanted);
  const int fd = open_name(AT_FDCWD, path ? path : same.text, mode.flags, 0666);
  if (fd < 0) {
    const KeptErrno kept;
    fclose(file);
    return nullptr;
  }
  dup3(fd, wanted, mode.flags & O_CLOEXEC);
  close_descriptor(fd);
  return renew_stream(file, mode);
}

FILE* renew_stream(FILE* file, const StreamMode& mode) {
  StdioStream* const stream = find(file);
  if (!stream) return errno = EBADF, nullptr;
  go_to_end(stream->fd, mode);
  __fpurge(file);
  file->_flags &= ~(no_reads | no_writes | stream_at_end | stream_in_error | putting | appending);
  file->_flags |= access_bits(mode.flags);
  file->_offset = -1;
  stream->orientation = 0;
  return file;
}

void forget_buffering(FILE* file) { file->_flags &= ~(unbuffered | by_lines); }

void show_standard_stream(int fd) {
  if (fd < 0 || fd > 2 || !is_captured(fd) || borrows_memory()) return;
  FILE** const shown[] = {&stdin, &stdout, &stderr};
  FILE*& variable = *shown[fd];
  if (!variable || variable->_fileno != fd || find(variable)) return;
  const StreamMode mode = *stream_mode(fd == 0 ? "r" : "w");
  FILE* const made = make_stream(fd, mode);
  if (!made) return;
  if (variable->_flags & unbuffered)
    setvbuf(made, nullptr, _IONBF, 0);
  else if (__flbf(variable))
    setvbuf(made, nullptr, _IOLBF, 0);
  if (const size_t pending = fd == 0 ? 0 : __fpending(variable); pending > 0) {
    fwrite(variable->_IO_write_base, 1, pending, made);
    __fpurge(variable);
  }
  show_cxx_streams(fd, variable, made);
  variable = made;
}

}  // namespace sheaf::preload
