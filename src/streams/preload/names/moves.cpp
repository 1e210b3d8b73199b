#include "streams/preload/names/moves.hpp"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/os/random.hpp"
#include "storage/system/posix_transfer.hpp"
#include "storage/times.hpp"
#include "streams/preload/errors.hpp"
#include "streams/preload/files.hpp"
#include "streams/preload/names/sets.hpp"
#include "streams/preload/real.hpp"

namespace sheaf::preload {

using streams::ContainerSet;
using streams::ContainerStream;
using streams::StreamStatus;

namespace {

constexpr size_t piece = size_t{1} << 20;  // bytes per copy step
constexpr size_t max_in_temporary = 200;   // bytes of the original name; keeps temporary names below NAME_MAX

// Copies all data of a stream to `put`, and skips holes.
void copy(const ContainerSet::Leaving& from,
          const std::function<void(std::span<const std::byte>, int64_t)>& put) {
  std::vector<std::byte> room(piece);
  int64_t end = 0;
  for (auto data = from.next_data(0); data; data = from.next_data(end)) {
    end = from.next_hole(*data).value_or(*data);
    for (int64_t at = *data; at < end;) {
      const size_t n = from.read(std::span(room).first(std::min(piece, size_t(end - at))), at);
      if (n == 0) return;
      put({room.data(), n}, at);
      at += int64_t(n);
    }
  }
}

void write_all(int fd, std::span<const std::byte> data, int64_t at) {
  const Moved moved = move_all(data.size(), [&](size_t done, size_t count) {
    return pwrite64(fd, &data[done], count, at + int64_t(done));
  });
  if (moved.bytes < data.size()) throw os_error("cannot write", "copy of a captured file", moved.error);
}

// Copies the stream to a temporary plain file next to `to`, a canonical path, and renames the complete file
// to `to`. Returns the device and the inode number of the file.
std::pair<uint64_t, uint64_t> copy_out(const ContainerSet::Leaving& from, const StreamStatus& status,
                                       const std::string& to) {
  const std::string temporary = temporary_name(to.substr(0, to.rfind('/') + 1 + max_in_temporary));
  const int fd = real::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) throw os_error("cannot create", temporary, errno);
  struct stat made;
  const int error = errno_of([&] {
    copy(from, [fd](std::span<const std::byte> data, int64_t at) { write_all(fd, data, at); });
    const timespec time = time_of(status.modified);
    const timespec times[2] = {time, time};
    if (ftruncate64(fd, status.size) != 0 || fchmod(fd, status.mode) != 0 || futimens(fd, times) != 0 ||
        fstat(fd, &made) != 0)
      throw os_error("cannot set", temporary, errno);
  });
  real::close(fd);
  if (error == 0 && real::rename(temporary.c_str(), to.c_str()) == 0) return {made.st_dev, made.st_ino};
  const int why = error != 0 ? error : errno;
  real::unlink(temporary.c_str());
  throw os_error("cannot rename", temporary, why);
}

enum class There { none, file, directory };
There plain_at(int at, const char* name) {
  struct stat status;
  if (fstatat(at, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return There::none;
  return S_ISDIR(status.st_mode) ? There::directory : There::file;
}

// Returns the errno that forbids a rename to the name of `plain`; 0 if it is allowed.
int obstacle(There plain, unsigned flags) {
  if (plain != There::none && (flags & RENAME_NOREPLACE)) return EEXIST;
  return plain == There::directory ? EISDIR : 0;
}

int rename_within(ContainerSet& set, const Place& from, const Place& to, int at, const char* name,
                  unsigned flags) {
  const There plain = plain_at(at, name);
  if (const int error = obstacle(plain, flags)) return error;
  bool there = false;
  const int error =
      errno_of([&] { there = set.rename(from.match.name, to.match.name, (flags & RENAME_NOREPLACE) != 0); });
  if (error == 0 && there && plain == There::file) unlinkat(at, name, 0);
  return error == 0 && !there ? ENOENT : error;
}

// Exchanges the names of two streams by three renames. Between the renames, no stream has one of the two
// names. Returns 0 or an errno.
int exchange_within(ContainerSet& set, std::string_view one, std::string_view other) {
  return errno_of([&] {
    if (!set.status(other)) throw os_error("cannot exchange", std::string(other), ENOENT);
    if (one == other) return;
    const std::string temporary = temporary_name(one);
    if (!set.rename(one, temporary, true)) throw os_error("cannot exchange", std::string(one), ENOENT);
    const int error = errno_of([&] {
      if (!set.rename(other, one)) throw os_error("cannot exchange", std::string(other), ENOENT);
    });
    set.rename(temporary, error == 0 ? other : one);
    if (error != 0) throw os_error("cannot exchange", std::string(one), error);
  });
}

// Returns whether a plain file has one name and is open only as `fd`, as far as this host can tell. Another
// process that has the file open would continue to write to the old file.
bool quiet(int fd, const struct stat& status) {
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1) return false;
  if (real::fcntl(fd, F_SETLEASE, F_WRLCK) != 0) return false;
  real::fcntl(fd, F_SETLEASE, F_UNLCK);
  return true;
}

// Returns whether the file is quiet() and was not modified since `status` was taken.
bool unchanged(int fd, const struct stat& status) {
  struct stat now;
  return quiet(fd, status) && fstat(fd, &now) == 0 && now.st_size == status.st_size &&
         now.st_mtim.tv_sec == status.st_mtim.tv_sec && now.st_mtim.tv_nsec == status.st_mtim.tv_nsec;
}

// Copies the bytes of a plain file from `at` to `end`, or to the end of the file.
void fill_range(int fd, int64_t at, int64_t end, std::span<std::byte> room, ContainerStream& stream) {
  while (at < end) {
    const ssize_t n = pread64(fd, room.data(), std::min(room.size(), size_t(end - at)), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw os_error("cannot read", "file that is captured", errno);
    if (n == 0) return;
    stream.write_all(room.first(size_t(n)), at);
    at += n;
  }
}

void fill_from(int fd, int64_t size, ContainerStream& stream) {
  std::vector<std::byte> room(piece);
  for (int64_t end = 0; end < size;) {
    const off64_t data = real::lseek(fd, end, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // a hole up to the end
    end = data < 0 ? data : real::lseek(fd, data, SEEK_HOLE);
    if (end < 0) throw os_error("cannot look for data of", "file that is captured", errno);
    fill_range(fd, data, end, room, stream);
  }
  if (stream.status().size < size) stream.truncate(size);
}

// Creates a stream with a temporary name, fills it with fill(stream), then renames it to `to`. The name `to`
// therefore never denotes a partial copy. `fill` must remove the source as its last step, and return whether
// it has done so. If it has not, the new stream is removed. If it has, the new stream is the only copy, and
// keeps its temporary name if the rename fails. Returns 0 or an errno.
int fill_new(ContainerSet& set, const Place& to, unsigned flags,
             const std::function<bool(ContainerStream&)>& fill) {
  return errno_of([&] {
    const bool keep = flags & RENAME_NOREPLACE;
    if (keep && set.status(to.match.name)) throw os_error("cannot move to", to.path, EEXIST);
    const std::string temporary = temporary_name(to.match.name);
    const auto stream = set.open_stream(temporary, {.create = true, .exclusive = true, .write = true});
    bool filled = false;
    const int error = errno_of([&] { filled = fill(*stream); });
    if (!filled) {
      errno_of([&] { set.remove(temporary); });
      throw os_error("cannot move to", to.path, error != 0 ? error : ENOENT);
    }
    if (!set.rename(temporary, to.match.name, keep)) throw os_error("cannot rename", temporary, ENOENT);
  });
}

// Moves a stream from one set to another. Creates the new stream before it locks the old one, because a
// thread that holds the lock of a stream must not wait for the lock of names.
int move_across(ContainerSet& set, const Place& from, ContainerSet& other, const Place& to, unsigned flags) {
  return fill_new(other, to, flags, [&](ContainerStream& made) {
    return set.move_out(
        from.match.name, {to.path, to.size}, [&](const auto& leaving, const StreamStatus& status) {
          copy(leaving, [&](std::span<const std::byte> data, int64_t at) { made.write_all(data, at); });
          if (made.status().size < status.size) made.truncate(status.size);
          made.set({status.mode, status.modified});
          made.flush();
          return std::pair<uint64_t, uint64_t>(0, made.status().number);
        });
  });
}

// Moves a stream out of its set to the plain file `target`. Returns false if the stream does not exist.
bool leave_set(ContainerSet& set, const Place& from, const std::string& target) {
  return set.move_out(from.match.name, target, [&](const auto& leaving, const StreamStatus& status) {
    return copy_out(leaving, status, target);
  });
}

int move_away(ContainerSet& set, const Place& from, int at, const char* to) {
  bool there = false;
  const int error = errno_of([&] {
    const std::string target = canonical_name(at, to);
    if (target.empty()) throw os_error("cannot move", from.path, errno);
    there = leave_set(set, from, target);
  });
  return error == 0 && !there ? ENOENT : error;
}

// Moves a stream to a name outside of its set: to another set, or to a plain file if `to_place` is null or
// its set cannot be used. Returns 0 or an errno.
int move_elsewhere(ContainerSet& set, const Place& from, const Place* to_place, int at, const char* to,
                   unsigned flags) {
  if (*to && to[strlen(to) - 1] == '/') return ENOTDIR;
  const There plain = plain_at(at, to);
  if (const int error = obstacle(plain, flags)) return error;
  const auto other = to_place ? set_at(to_place->match.set, false) : nullptr;
  const int error = other ? move_across(set, from, *other, *to_place, flags) : move_away(set, from, at, to);
  if (error == 0 && other && plain == There::file) unlinkat(at, to, 0);
  return error;
}

// Returns the errno that forbids a rename between these places; 0 if they do not forbid it.
int refusal(const Place& from, const Place* to, unsigned flags) {
  if (flags != RENAME_EXCHANGE && (flags & ~unsigned(RENAME_NOREPLACE))) return EINVAL;
  if (from.view() || (to && to->view())) return EROFS;
  return to && to->slash ? ENOTDIR : 0;
}

}  // namespace

std::string temporary_name(std::string_view name) {
  char random[17];
  snprintf(random, sizeof random, "%016" PRIx64, random_number());
  return std::string(name) + ".sheaf." + random;
}

int move_captured(const Place& from, const Place* to_place, int at, const char* to, unsigned flags) noexcept {
  if (const int error = refusal(from, to_place, flags)) return failed(error);
  const auto set = set_at(from.match.set, false);
  const bool within = to_place && std::string_view(from.match.set) == to_place->match.set;
  if (flags == RENAME_EXCHANGE) {
    if (plain_at(at, to) != There::none) return failed(EINVAL);
    if (!within) return failed(to_place ? EINVAL : ENOENT);
    return result_of(exchange_within(*set, from.match.name, to_place->match.name));
  }
  return result_of(within ? rename_within(*set, from, *to_place, at, to, flags)
                          : move_elsewhere(*set, from, to_place, at, to, flags));
}

int move_to_plain(const Place& place) noexcept {
  bool there = false;
  const int error = errno_of([&] {
    const auto set = place.view() ? nullptr : set_at(place.match.set, false);
    there = set && leave_set(*set, place, {place.path, place.size});
  });
  return error != 0 ? error : there ? 0 : ENOENT;
}

int take_in(int from_at, const char* from, const Place& to, unsigned flags) noexcept {
  if (flags & ~unsigned(RENAME_NOREPLACE)) return hand_on;
  if (plain_at(AT_FDCWD, to.path) != There::none || !may_change_in(to)) return hand_on;
  const int fd = real::openat(from_at, from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
  if (fd < 0) return hand_on;
  struct stat status;
  const auto set = set_at(to.match.set, false);
  int result = hand_on;
  if (set && fstat(fd, &status) == 0 && quiet(fd, status)) {
    bool gone = false;
    const int error = fill_new(*set, to, flags, [&](ContainerStream& stream) {
      fill_from(fd, status.st_size, stream);
      stream.set({status.st_mode & 07777, nanoseconds(status.st_mtim)});
      stream.flush();
      gone = unchanged(fd, status) && unlinkat(from_at, from, 0) == 0;
      return gone;
    });
    if (error == 0)
      result = 0;
    else if (gone || error == EEXIST)
      result = failed(error);
  }
  real::close(fd);
  return result;
}

}  // namespace sheaf::preload
