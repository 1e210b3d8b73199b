#include "streams/preload/entries/captured_program.hpp"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "storage/system/posix_transfer.hpp"
#include "streams/preload/entries/captured_name.hpp"
#include "streams/preload/entries/handing_over.hpp"
#include "streams/preload/own_descriptors.hpp"
#include "streams/preload/real.hpp"

namespace sheaf::preload {

namespace {

constexpr size_t piece = size_t{1} << 20;  // bytes per copy step

void copy_to(int memory, streams::ContainerStream& stream) {
  std::vector<std::byte> room(piece);
  size_t got = 0;
  for (int64_t at = 0; (got = stream.read(room, at)) > 0; at += int64_t(got)) {
    const auto write = [&](size_t done, size_t count) { return real::write(memory, &room[done], count); };
    if (const Moved moved = move_all(got, write); moved.bytes < got)
      throw os_error("cannot copy", "captured program", moved.error);
  }
}

// Copies the stream to a new memory file. Returns a close-on-exec descriptor of that file, or -1 with errno.
// `path` is used for the file's name in /proc.
int copy_program(const char* path, streams::ContainerStream& stream) {
  char name[200];  // the kernel accepts at most 249 bytes
  snprintf(name, sizeof name, "%s", last_component(path).data());
  int memory = -1;
  const int error = errno_of([&] {
    if (!permitted(stream.status(), X_OK)) throw os_error("cannot start", name, EACCES);
    memory = own_descriptor(memfd_create(name, MFD_CLOEXEC));
    if (memory < 0) throw os_error("cannot start", name, errno);
    copy_to(memory, stream);
  });
  if (error == 0) return memory;
  forget_limit(error);
  if (memory >= 0) close_own_descriptor(memory);
  return failed(error);
}

bool is_link(int at, const char* path) {
  struct stat status;
  const Inside inside;
  return fstatat(at, path, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
}

}  // namespace

int Script::read(int fd) {
  const Inside inside;
  const ssize_t n = pread(fd, line_, max_of_line, 0);
  if (n < 2 || line_[0] != '#' || line_[1] != '!') return 0;
  line_[n] = '\0';
  char* end = line_ + strcspn(line_, "\n");
  const bool whole = *end == '\n' || n < max_of_line;
  while (end > line_ + 2 && strchr(" \t", end[-1])) --end;
  *end = '\0';
  char* const name = line_ + 2 + strspn(line_ + 2, " \t");
  char* const behind = name + strcspn(name, " \t");
  if (name == end || (!whole && *behind == '\0')) return ENOEXEC;
  interpreter_ = name;
  if (*behind == '\0') return 0;
  *behind = '\0';
  argument_ = behind + 1 + strspn(behind + 1, " \t");
  return 0;
}

void Script::put_words(const char* path, char* const* words, const char** result) const noexcept {
  *result++ = interpreter_;
  if (argument_) *result++ = argument_;
  *result++ = path;
  if (words && *words)
    while (*++words) *result++ = *words;
  *result = nullptr;
}

bool has_captured_interpreter(const char* path, Script& script) {
  const KeptErrno kept;
  {
    const Inside inside;
    const int fd = path ? real::open(path, O_RDONLY | O_CLOEXEC, 0) : -1;
    if (fd >= 0) {
      script.read(fd);
      real::close(fd);
    }
  }
  Place place;
  return script.interpreter() && find_place(AT_FDCWD, script.interpreter(), place);
}

// Prepares the program that make() has copied, and sets error_. make() returns the descriptor of the copy, -1
// with errno, or hand_on.
template <class Make>
void CapturedProgram::copy(const Make& make) {
  memory_ = borrows_memory() ? by_another_process(make, O_CLOEXEC) : make();
  error_ = memory_ >= 0 ? 0 : memory_ == hand_on ? hand_on : errno;
  if (memory_ < 0) return;
  snprintf(path_, sizeof path_, "/proc/self/fd/%d", memory_);
  error_ = script_.read(memory_);
}

void CapturedProgram::copy_open(int fd) {
  copy([fd] {
    const Use file(fd);
    return file ? copy_program("program", *file->stream) : failed(EBADF);
  });
}

CapturedProgram::CapturedProgram(int at, const char* path) : error_(hand_on) {
  if (!path) return;
  if (const int fd = descriptor_named(path); fd >= 0 && is_captured(fd)) {
    copy_open(fd);
    return;
  }
  Place place;
  const bool named = find_place(at, path, place);
  if (!named && !is_link(at, path)) return;
  copy([&] {
    if ((!named || !is_there(place)) && !find_behind_link(at, path, place)) return hand_on;
    if (place.slash) return failed(ENOTDIR);
    const Inside inside;
    const auto stream = stream_at(place, false);
    return stream ? copy_program(place.path, *stream) : -1;
  });
}

CapturedProgram::CapturedProgram(int fd) : error_(hand_on) {
  if (is_captured(fd)) copy_open(fd);
}

CapturedProgram::~CapturedProgram() {
  if (memory_ < 0) return;
  const KeptErrno kept;
  if (borrows_memory())
    real::close(memory_);
  else
    close_own_descriptor(memory_);
}

}  // namespace sheaf::preload
