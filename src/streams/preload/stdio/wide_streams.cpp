#include "streams/preload/stdio/wide_streams.hpp"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/non_copyable.hpp"
#include "streams/preload/errors.hpp"
#include "streams/preload/inside.hpp"
#include "streams/preload/real.hpp"
#include "streams/preload/stdio/streams.hpp"

namespace sheaf::preload {

namespace {

namespace next {
constinit Real<FILE*(int, const char*)> fdopen{"fdopen"};
}

constexpr size_t first_scanned = 4096;             // bytes passed to the first scan
constexpr size_t max_scanned = size_t{256} << 20;  // maximum bytes passed to a scan

class StdioLockGuard : private NonCopyable {
 public:
  explicit StdioLockGuard(FILE* stream) : stream_(stream) { flockfile(stream_); }
  ~StdioLockGuard() { funlockfile(stream_); }

 private:
  FILE* const stream_;
};

wint_t wrong_sequence(FILE* stream) {
  stream->_flags |= stream_in_error;
  errno = EILSEQ;
  return WEOF;
}

bool put_characters(const wchar_t* text, size_t n, FILE* stream) {
  char bytes[MB_LEN_MAX];
  for (size_t i = 0; i < n; ++i) {
    mbstate_t state{};
    const size_t size = wcrtomb(bytes, text[i], &state);
    if (size == size_t(-1)) return wrong_sequence(stream), false;
    if (fwrite_unlocked(bytes, 1, size, stream) != size) return false;
  }
  return true;
}

// Creates a stream of the C library that reads the first `n` of `bytes`. Returns null with errno on failure.
FILE* stream_with(const std::vector<char>& bytes, size_t n) {
  const int fd = memfd_create("sheaf scan", MFD_CLOEXEC);
  if (fd < 0) return nullptr;
  FILE* made = nullptr;
  if (real::write(fd, bytes.data(), n) == ssize_t(n) && real::lseek(fd, 0, SEEK_SET) == 0)
    made = next::fdopen(fd, "r");
  if (!made) real::close(fd);
  return made;
}

struct Scanned {
  int result = EOF;
  off64_t bytes = 0;    // bytes consumed
  bool at_end = false;  // the scan reached the end of the bytes
  bool failed = false;
};

bool scan_bytes(const std::vector<char>& bytes, size_t n, const OnStream& scan, Scanned& done) {
  FILE* const room = stream_with(bytes, n);
  if (!room) return false;
  done.result = scan(room);
  done.bytes = ftello64(room);
  done.at_end = feof(room);
  done.failed = ferror(room);
  const KeptErrno kept;
  fclose(room);
  return done.bytes >= 0;
}

}  // namespace

Width widen(FILE* stream) {
  if (stream->_mode >= 0 || !is_ours(stream)) return Width::c_library;
  return orient_stream(stream, 1) > 0 ? Width::wide : Width::bytes;
}

wint_t get_wide(FILE* stream) {
  const StdioLockGuard lock(stream);
  mbstate_t state{};
  for (bool begun = false;; begun = true) {
    const int c = getc_unlocked(stream);
    if (c == EOF) return begun ? wrong_sequence(stream) : WEOF;
    const char byte = char(c);
    wchar_t found = 0;
    const size_t n = mbrtowc(&found, &byte, 1, &state);
    if (n == size_t(-1)) return wrong_sequence(stream);
    if (n != size_t(-2)) return wint_t(found);
  }
}

wint_t put_wide(wchar_t c, FILE* stream) {
  const StdioLockGuard lock(stream);
  return put_characters(&c, 1, stream) ? wint_t(c) : WEOF;
}

wint_t put_back_wide(wint_t c, FILE* stream) {
  if (c == WEOF) return WEOF;
  const StdioLockGuard lock(stream);
  char bytes[MB_LEN_MAX];
  mbstate_t state{};
  size_t size = wcrtomb(bytes, wchar_t(c), &state);
  if (size == size_t(-1)) return WEOF;
  while (size > 0)
    if (ungetc(static_cast<unsigned char>(bytes[--size]), stream) == EOF) return WEOF;
  return c;
}

wchar_t* get_wide_line(wchar_t* room, int n, FILE* stream) {
  if (n <= 0) return nullptr;
  const StdioLockGuard lock(stream);
  int used = 0;
  while (used < n - 1) {
    const wint_t c = get_wide(stream);
    if (c == WEOF && (used == 0 || ferror(stream))) return nullptr;
    if (c == WEOF) break;
    room[used++] = wchar_t(c);
    if (c == L'\n') break;
  }
  room[used] = L'\0';
  return room;
}

int put_wide_text(const wchar_t* text, FILE* stream) {
  const StdioLockGuard lock(stream);
  return put_characters(text, wcslen(text), stream) ? 1 : EOF;
}

int print_wide(FILE* stream, const OnStream& print) {
  wchar_t* text = nullptr;
  size_t n = 0;
  FILE* const room = open_wmemstream(&text, &n);
  if (!room) return -1;
  const int result = print(room);
  const int error = errno;
  fclose(room);
  errno = error;
  bool good = false;
  {
    const StdioLockGuard lock(stream);
    good = put_characters(text, n, stream);
  }
  const KeptErrno kept;
  free(text);
  return good ? result : -1;
}

// Calls `scan` on a stream of the C library that holds the bytes after the current position. If the scan
// reaches their end, repeats it with more bytes. Then advances the position by the bytes consumed.
int scan_wide(FILE* stream, const OnStream& scan) {
  const StdioLockGuard lock(stream);
  const off64_t begin = ftello64(stream);
  if (begin < 0) return EOF;
  Scanned done;
  std::vector<char> bytes;
  for (size_t size = first_scanned;; size *= 8) {
    if (const int error = errno_of([&] { bytes.resize(size); })) return errno = error, EOF;
    if (fseeko64(stream, begin, SEEK_SET) != 0) return EOF;
    const size_t n = fread(bytes.data(), 1, size, stream);
    if (ferror(stream) || !scan_bytes(bytes, n, scan, done)) return EOF;
    if (n < size || size >= max_scanned || (!done.at_end && !done.failed)) break;
  }
  if (fseeko64(stream, begin + done.bytes, SEEK_SET) != 0) return EOF;
  stream->_flags |= (done.at_end ? stream_at_end : 0) | (done.failed ? stream_in_error : 0);
  return done.result;
}

}  // namespace sheaf::preload
