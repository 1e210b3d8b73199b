// streams/preload/entries/stdio: the entry points that create, reopen and close streams. Most other calls of
// stdio work on streams of this library without an entry point.
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "streams/preload/descriptors.hpp"
#include "streams/preload/duplicates.hpp"
#include "streams/preload/errors.hpp"
#include "streams/preload/files.hpp"
#include "streams/preload/names/links.hpp"
#include "streams/preload/names/moves.hpp"
#include "streams/preload/opening.hpp"
#include "streams/preload/real.hpp"
#include "streams/preload/stdio/streams.hpp"

namespace sheaf::preload {

namespace {

namespace next {
constinit Real<FILE*(const char*, const char*)> fopen{"fopen64"};
constinit Real<FILE*(int, const char*)> fdopen{"fdopen"};
constinit Real<FILE*(const char*, const char*, FILE*)> freopen{"freopen64"};
constinit Real<int(int, const char*, va_list)> vdprintf{"vdprintf"};
constinit Real<int(int, int, const char*, va_list)> vdprintf_chk{"__vdprintf_chk"};
constinit Real<int(char**, const char*, va_list)> vasprintf{"vasprintf"};
constinit Real<int(char**, int, const char*, va_list)> vasprintf_chk{"__vasprintf_chk"};
}  // namespace next

FILE* on_descriptor(int fd, const StreamMode& mode) {
  FILE* const made = make_stream(fd, mode);
  if (made) return made;
  const int error = errno;
  close_descriptor(fd);
  return errno = error, nullptr;
}

// Creates a stream of the C library on `fd`, which is not captured. Closes `fd` on failure.
FILE* plain_on_descriptor(int fd, const char* words, const StreamMode& mode) {
  FILE* const made = next::fdopen(fd, words);
  const int error = errno;
  if (made) go_to_end(fd, mode);  // fdopen does this only if it sets O_APPEND itself
  if (!made) close_descriptor(fd);
  return errno = error, made;
}

// Returns whether fdopen(3) accepts all of the mode `words`. It ignores a character set, which follows a
// comma.
bool opens_as_descriptor(const char* words) { return !strchr(words, ','); }

// Opens `path` through the entry points and creates a stream on the descriptor. `place` is the place of
// `path`; null if unknown.
FILE* open_stream(const char* path, const char* words, const StreamMode& mode, const Place* place) {
  const int fd = place ? open_place(*place, AT_FDCWD, path, mode.flags, 0666)
                       : open_name(AT_FDCWD, path, mode.flags, 0666);
  if (fd < 0) return nullptr;
  if (is_captured(fd)) return on_descriptor(fd, mode);
  struct stat status;
  if (opens_as_descriptor(words) || (fstat(fd, &status) == 0 && !S_ISREG(status.st_mode)))
    return plain_on_descriptor(fd, words, mode);  // a second open could block or have side effects
  close_descriptor(fd);
  char again[8];
  size_t n = 0;
  for (const char* c = words; *c && n + 1 < sizeof again; ++c)
    if (*c != 'x') again[n++] = *c;
  again[n] = '\0';
  return next::fopen(path, again);
}

bool fits(int have, int want) {
  const int mode = have & O_ACCMODE;
  return mode == O_RDWR || mode == (want & O_ACCMODE);
}

// Calls freopen(3) of the C library, and drops stale state of the descriptor, because the C library puts
// another file on it.
FILE* reopen_by_library(const char* path, const char* words, FILE* stream) {
  FILE* const made = next::freopen(path, words, stream);
  if (made) new_descriptor(made->_fileno);
  explained(AT_FDCWD, path, made ? 0 : -1);
  return made;
}

// Reopens a stream of the C library on a captured file. The stream cannot become one of this library, because
// its address would change. Therefore the captured file becomes a plain file.
FILE* reopen_plain(const Place& place, const char* path, const char* words, FILE* stream) {
  {
    const Inside inside;
    warn_plain(place, ENOTSUP);
    if (status_at(place) && move_captured(place, nullptr, AT_FDCWD, path, 0) != 0) return nullptr;
  }
  return reopen_by_library(path, words, stream);
}

// Reopens a standard stream of the C library on a captured file. `variable` is stdin, stdout or stderr.
FILE* reopen_standard(const char* path, const char* words, FILE*& variable, const StreamMode& mode) {
  FILE* const stream = variable;
  const int standard = fileno(stream), fd = open_name(AT_FDCWD, path, mode.flags, 0666);
  if (fd < 0) {
    const KeptErrno kept;
    fclose(stream);
    return nullptr;
  }
  if (!is_captured(fd)) {
    close_descriptor(fd);
    return reopen_by_library(path, words, stream);
  }
  if (fd != standard) {  // otherwise the descriptor of the stream was closed before
    fflush(stream);
    forget_buffering(stream);
    dup3(fd, standard, mode.flags & O_CLOEXEC);  // replaces `variable`
    close_descriptor(fd);
  }
  return renew_stream(variable, mode);
}

}  // namespace

SHEAF_ENTRY_AND(FILE*, fopen, fopen64, const char* path, const char* words) {
  if (is_inside() || rules().empty()) return next::fopen(path, words);
  const auto mode = stream_mode(words);
  Place place;
  if (mode && is_captured(descriptor_named(path))) return open_stream(path, words, *mode, nullptr);
  if (mode && find_place(AT_FDCWD, path, place, true)) return open_stream(path, words, *mode, &place);
  // With O_CREAT, `path` may be a link to a captured file that does not exist for the kernel. The C library
  // itself would create a plain file as the target of the link.
  if (mode && (mode->flags & O_CREAT) && opens_as_descriptor(words))
    return open_stream(path, words, *mode, nullptr);
  FILE* const plain = next::fopen(path, words);
  if (plain) new_descriptor(plain->_fileno);
  if (plain || !mode || errno != ENOENT || !find_behind_link(AT_FDCWD, path, place)) return plain;
  return open_stream(path, words, *mode, nullptr);
}
SHEAF_ENTRY(FILE*, fdopen, int fd, const char* words) {
  if (!is_captured(fd)) return next::fdopen(fd, words);
  const auto mode = stream_mode(words);
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0) return nullptr;
  if (!mode || !fits(flags, mode->flags)) return errno = EINVAL, nullptr;
  if ((mode->flags & O_APPEND) && !(flags & O_APPEND)) fcntl(fd, F_SETFL, flags | O_APPEND);
  if (mode->flags & O_CLOEXEC) fcntl(fd, F_SETFD, FD_CLOEXEC);
  return make_stream(fd, *mode);
}
SHEAF_ENTRY_AND(FILE*, freopen, freopen64, const char* path, const char* words, FILE* stream) {
  if (is_inside() || rules().empty()) return next::freopen(path, words, stream);
  const auto mode = stream_mode(words);
  if (mode && is_ours(stream)) return reopen_stream(stream, path, *mode);
  Place place;
  if (!mode || !path ||
      (!find_place(AT_FDCWD, path, place) &&
       !find_behind_link(AT_FDCWD, path, place, (mode->flags & O_CREAT) && !(mode->flags & O_EXCL))))
    return reopen_by_library(path, words, stream);
  const int standard = fileno(stream);
  FILE** const shown[] = {&stdin, &stdout, &stderr};
  const bool is_standard = standard >= 0 && standard <= 2 && *shown[standard] == stream;
  return is_standard ? reopen_standard(path, words, *shown[standard], *mode)
                     : reopen_plain(place, path, words, stream);
}

// Drops the state of the captured descriptor if `stream` is one of the C library, because the C library
// closes the descriptor by an internal call.
SHEAF_REPLACED(int, fclose, FILE* stream) {
  const int fd = stream->_flags & stream_of_file ? stream->_fileno : -1;
  if (is_captured(fd) && !is_ours(stream)) forget_captured(fd);
  return next::fclose(stream);
}

namespace {

// Writes `size` bytes of `text` to `fd` and frees `text`. dprintf(3) prints to memory first, because the C
// library would bypass the preload.
int write_printed(int fd, char* text, int size) {
  int done = 0;
  while (done < size) {
    const ssize_t n = write(fd, text + done, size_t(size - done));
    if (n < 0) break;
    done += int(n);
  }
  const KeptErrno kept;
  free(text);
  return done == size ? size : -1;
}

int print(int fd, const char* format, va_list arguments) {
  if (!is_captured(fd)) return next::vdprintf(fd, format, arguments);
  char* text = nullptr;
  const int size = next::vasprintf(&text, format, arguments);
  return size < 0 ? size : write_printed(fd, text, size);
}

int print_checked(int fd, int flag, const char* format, va_list arguments) {
  if (!is_captured(fd)) return next::vdprintf_chk(fd, flag, format, arguments);
  char* text = nullptr;
  const int size = next::vasprintf_chk(&text, flag, format, arguments);
  return size < 0 ? size : write_printed(fd, text, size);
}

}  // namespace

SHEAF_ENTRY(int, vdprintf, int fd, const char* format, va_list arguments) {
  return print(fd, format, arguments);
}
SHEAF_ENTRY(int, __vdprintf_chk, int fd, int flag, const char* format, va_list arguments) {
  return print_checked(fd, flag, format, arguments);
}
SHEAF_ENTRY(int, dprintf, int fd, const char* format, ...) {
  SHEAF_WITH_ARGUMENTS(format, print(fd, format, arguments));
}
SHEAF_ENTRY(int, __dprintf_chk, int fd, int flag, const char* format, ...) {
  SHEAF_WITH_ARGUMENTS(format, print_checked(fd, flag, format, arguments));
}

}  // namespace sheaf::preload
