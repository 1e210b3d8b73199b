#include "api/posix/names/moves.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <vector>

#include "api/posix/errors.hpp"
#include "api/posix/files.hpp"
#include "api/posix/names/sets.hpp"
#include "api/posix/real.hpp"

namespace sheaf::posix {

namespace {

constexpr size_t piece = size_t{1} << 20;  // bytes copied at once

struct OpenElsewhere {
  const ContainerSet* set;
  uint64_t number;
  bool found = false;
};

// Whether this process writes to that stream: a copy would miss what comes.
bool written_here(const ContainerSet& set, uint64_t number) {
  OpenElsewhere asked{&set, number};
  each_captured(
      [](int, OpenFile& file, void* context) {
        auto& question = *static_cast<OpenElsewhere*>(context);
        const Slot& slot = *file.slot.load();
        if (file.set.get() == question.set && slot.stream == question.number &&
            (slot.flags.load() & O_ACCMODE) != O_RDONLY)
          question.found = true;
      },
      &asked);
  return asked.found;
}

void copy(ContainerStream& from, const std::function<void(std::span<const std::byte>, int64_t)>& put) {
  std::vector<std::byte> room(piece);
  for (int64_t at = 0;;) {
    const size_t n = from.read(room, at);
    if (n == 0) return;
    put({room.data(), n}, at);
    at += int64_t(n);
  }
}

void write_all(int fd, std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t n = real::write(fd, data.data(), data.size());
    if (n < 0 && errno != EINTR) throw os_error("cannot write", "copy of a captured file", errno);
    if (n > 0) data = data.subspan(size_t(n));
  }
}

// A plain file beside `to` that takes its name when it is complete.
void copy_out(ContainerStream& from, int at, const char* to) {
  char temporary[PATH_MAX + 40];
  snprintf(temporary, sizeof temporary, "%s.sheaf.%d", to, int(getpid()));
  const StreamStatus status = from.status();
  const int fd = real::openat(at, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) throw os_error("cannot create", temporary, errno);
  const int error = errno_of([&] {
    copy(from, [fd](std::span<const std::byte> data, int64_t) { write_all(fd, data); });
    const timespec time{status.modified / 1000000000, status.modified % 1000000000};
    const timespec times[2] = {time, time};
    if (fchmod(fd, status.mode) != 0 || futimens(fd, times) != 0)
      throw os_error("cannot set", temporary, errno);
  });
  real::close(fd);
  if (error == 0 && renameat(at, temporary, at, to) == 0) return;
  const int why = error != 0 ? error : errno;
  unlinkat(at, temporary, 0);
  throw os_error("cannot rename", temporary, why);
}

void copy_across(ContainerStream& from, ContainerSet& set, std::string_view name) {
  StreamOpening opening;
  opening.create = opening.truncate = opening.write = true;
  opening.mode = from.status().mode;
  const auto made = set.open_stream(name, opening);
  copy(from, [&](std::span<const std::byte> data, int64_t at) { made->write(data, at); });
  made->set({opening.mode, from.status().modified});
  made->flush();
}

enum class There { nothing, file, directory };
There plain_at(int at, const char* name) {
  struct stat status;
  if (fstatat(at, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return There::nothing;
  return S_ISDIR(status.st_mode) ? There::directory : There::file;
}

int rename_within(ContainerSet& set, const Place& from, const Place& to, int at, const char* name,
                  unsigned flags) {
  const There plain = plain_at(at, name);
  if (plain != There::nothing && (flags & RENAME_NOREPLACE)) return EEXIST;
  if (plain == There::directory) return EISDIR;
  bool there = false;
  const int error =
      errno_of([&] { there = set.rename(from.match.name, to.match.name, (flags & RENAME_NOREPLACE) != 0); });
  if (error == 0 && there && plain == There::file) unlinkat(at, name, 0);
  return error == 0 && !there ? ENOENT : error;
}

// True once nobody can be writing to it, as far as this host knows.
bool quiet(int fd, const struct stat& status) {
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1) return false;
  if (real::fcntl(fd, F_SETLEASE, F_RDLCK) != 0) return false;
  real::fcntl(fd, F_SETLEASE, F_UNLCK);
  return true;
}

void fill_from(int fd, ContainerStream& stream) {
  std::vector<std::byte> room(piece);
  for (int64_t at = 0;;) {
    const ssize_t n = real::read(fd, room.data(), room.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw os_error("cannot read", "file that is captured", errno);
    if (n == 0) return;
    stream.write(std::span(room).first(size_t(n)), at);
    at += n;
  }
}

// Under a name of its own first, so that the new name has all bytes or none.
int take(int fd, const struct stat& status, ContainerSet& set, const Place& to, unsigned flags) {
  const std::string temporary = std::string(to.match.name) + ".sheaf." + std::to_string(getpid());
  const int error = errno_of([&] {
    StreamOpening opening;
    opening.create = opening.truncate = opening.write = true;
    opening.mode = status.st_mode & 07777;
    const auto stream = set.open_stream(temporary, opening);
    fill_from(fd, *stream);
    stream->set({opening.mode, int64_t{status.st_mtim.tv_sec} * 1000000000 + status.st_mtim.tv_nsec});
    stream->flush();
    set.rename(temporary, to.match.name, (flags & RENAME_NOREPLACE) != 0);
  });
  if (error != 0) errno_of([&] { set.remove(temporary); });
  return error;
}

}  // namespace

int move_captured(const Place& from, const Place* to_place, int at, const char* to, unsigned flags) noexcept {
  if (flags & ~unsigned(RENAME_NOREPLACE)) return failed(EINVAL);
  if (from.view() || (to_place && to_place->view())) return failed(EROFS);
  const auto set = set_at(from.match.set, false);
  if (to_place && to_place->slash) return failed(ENOTDIR);
  if (to_place && std::string_view(from.match.set) == to_place->match.set) {
    const int error = rename_within(*set, from, *to_place, at, to, flags);
    return error == 0 ? 0 : failed(error);
  }
  const There plain = plain_at(at, to);
  if (plain != There::nothing && (flags & RENAME_NOREPLACE)) return failed(EEXIST);
  if (plain == There::directory) return failed(EISDIR);
  const auto stream = stream_at(from, false);
  if (!stream) return failed(ENOENT);
  const int error = errno_of([&] {
    if (written_here(*set, stream->status().number)) throw os_error("cannot move", from.path, EXDEV);
    const auto other = to_place ? set_at(to_place->match.set, false) : nullptr;
    if (other) {
      if ((flags & RENAME_NOREPLACE) && other->status(to_place->match.name))
        throw os_error("cannot move", from.path, EEXIST);
      copy_across(*stream, *other, to_place->match.name);
      if (plain == There::file) unlinkat(at, to, 0);
    } else {
      copy_out(*stream, at, to);
    }
    set->remove(from.match.name);
  });
  return error == 0 ? 0 : failed(error);
}

int take_in(int from_at, const char* from, const Place& to, unsigned flags) noexcept {
  if (flags & ~unsigned(RENAME_NOREPLACE)) return hand_on;
  if (plain_at(AT_FDCWD, to.path) != There::nothing) return hand_on;
  const int fd = real::openat(from_at, from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
  if (fd < 0) return hand_on;
  struct stat status;
  const auto set = set_at(to.match.set, false);
  int result = hand_on;
  if (set && fstat(fd, &status) == 0 && quiet(fd, status)) {
    const int error = take(fd, status, *set, to, flags);
    if (error == 0 && unlinkat(from_at, from, 0) == 0) result = 0;
    if (error == 0 && result != 0) result = (errno_of([&] { set->remove(to.match.name); }), hand_on);
    if (error == EEXIST) result = failed(EEXIST);
  }
  real::close(fd);
  return result;
}

}  // namespace sheaf::posix
