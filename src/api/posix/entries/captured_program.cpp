#include "api/posix/entries/captured_program.hpp"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "api/posix/entries/captured_name.hpp"
#include "api/posix/entries/handing_over.hpp"
#include "api/posix/own_descriptors.hpp"
#include "api/posix/real.hpp"

namespace sheaf::posix {

namespace {

constexpr size_t piece = size_t{1} << 20;  // bytes copied at once

void copy_to(int memory, ContainerStream& stream) {
  std::vector<std::byte> room(piece);
  size_t got = 0;
  for (int64_t at = 0; (got = stream.read(room, at)) > 0; at += int64_t(got))
    for (size_t done = 0; done < got;) {
      const ssize_t n = real::write(memory, room.data() + done, got - done);
      if (n < 0 && errno != EINTR) throw os_error("cannot copy", "captured program", errno);
      done += size_t(std::max<ssize_t>(n, 0));
    }
}

// A descriptor of its bytes, closed by exec; -1 with errno.
int copy_program(const char* name, ContainerStream& stream) {
  int memory = -1;
  const int error = errno_of([&] {
    if (!permitted(stream.status(), X_OK)) throw os_error("cannot start", name, EACCES);
    memory = own_descriptor(memfd_create(name, MFD_CLOEXEC));
    if (memory < 0) throw os_error("cannot start", name, errno);
    copy_to(memory, stream);
  });
  if (error == 0) return memory;
  if (memory >= 0) close_own_descriptor(memory);
  return failed(error);
}

}  // namespace

// What `make` gives is a descriptor, -1 with errno, or hand_on.
template <class Make>
void CapturedProgram::copy(const Make& make) {
  const auto make_inside = [&] {
    const Inside inside;
    return make();
  };
  memory_ = borrows_memory() ? by_another_process(make_inside, O_CLOEXEC) : make_inside();
  if (memory_ < 0) error_ = memory_ == hand_on ? hand_on : errno;
  if (memory_ < 0) return;
  error_ = 0;
  snprintf(path_, sizeof path_, "/proc/self/fd/%d", memory_);
  read_first_line();
}

CapturedProgram::CapturedProgram(int at, const char* path) : error_(hand_on) {
  Place place;
  if (!path || !find_place(at, path, place)) return;
  copy([&] {
    if (!status_at(place)) return hand_on;
    if (place.slash) return failed(ENOTDIR);
    const auto stream = stream_at(place, false);
    return stream ? copy_program(place.last(), *stream) : -1;
  });
}

CapturedProgram::CapturedProgram(int fd) : error_(hand_on) {
  if (!is_captured(fd)) return;
  copy([&] {
    const Use file(fd);
    return file ? copy_program("program", *file->stream) : failed(EBADF);
  });
}

CapturedProgram::~CapturedProgram() {
  if (memory_ < 0) return;
  const int error = errno;
  if (borrows_memory())
    real::close(memory_);
  else
    close_own_descriptor(memory_);
  errno = error;
}

// #! INTERPRETER [ARGUMENT], as execve(2) has it.
void CapturedProgram::read_first_line() {
  const Inside inside;
  const ssize_t n = pread(memory_, line_, sizeof line_ - 1, 0);
  if (n < 2 || line_[0] != '#' || line_[1] != '!') return;
  line_[n] = '\0';
  char* end = line_ + strcspn(line_, "\n");
  while (end > line_ + 2 && strchr(" \t", end[-1])) --end;
  *end = '\0';
  char* const name = line_ + 2 + strspn(line_ + 2, " \t");
  if (name == end) return;
  interpreter_ = name;
  char* const behind = name + strcspn(name, " \t");
  if (*behind == '\0') return;
  *behind = '\0';
  argument_ = behind + 1 + strspn(behind + 1, " \t");
}

void words_of_interpreter(const char* interpreter, const char* argument, const char* path, char* const* words,
                          const char** result) noexcept {
  *result++ = interpreter;
  if (argument) *result++ = argument;
  *result++ = path;
  if (words && *words)
    while (*++words) *result++ = *words;
  *result = nullptr;
}

}  // namespace sheaf::posix
