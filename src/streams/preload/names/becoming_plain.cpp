#include "streams/preload/names/becoming_plain.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/printable.hpp"
#include "streams/capture/shared_names.hpp"
#include "streams/preload/descriptors.hpp"
#include "streams/preload/errors.hpp"
#include "streams/preload/locks.hpp"
#include "streams/preload/names/moves.hpp"
#include "streams/preload/own_descriptors.hpp"
#include "streams/preload/real.hpp"
#include "streams/preload/stdio/telling.hpp"

namespace sheaf::preload {

namespace {

void tell_once(const Place& place, PlainFor what) {
  const bool names = what == PlainFor::names;
  if (!streams::first_of_job(rules_identity(), names ? "names" : "mappings")) return;
  tell("sheaf: '%s' %s, which captured files cannot: it is a plain file now, and others may become plain\n",
       printable({place.path, place.size}).c_str(),
       names ? "gets another name (a hard link)" : "is mapped to be written and shared");
}

// Stores the place of the current name of an open file. Returns false if the file has no name.
bool place_of(OpenFile& file, Place& place) {
  const std::string name = file.stream->name();
  if (name.empty()) return false;
  const std::string& set = file.set->path();
  const std::string path = name.starts_with('/') ? name : set.substr(0, set.rfind('/') + 1) + name;
  return match_canonical(path, place) && std::string_view(place.match.set, place.match.set_size) == set;
}

// Converts the open file to a plain file, unless it is one already, and returns the path of the plain file.
// Returns an empty path if the file has no name.
std::string plain_path_of(OpenFile& file) {
  file.stream->status();  // makes the stream follow a rename by another process
  std::string path = file.stream->plain_path();
  if (!path.empty() || file.view) return path;
  Place place;
  if (!place_of(file, place) || become_plain(place, PlainFor::mappings) != 0) return {};
  file.stream->status();
  return file.stream->plain_path();
}

std::vector<int> descriptors_of(const OpenFile& file) {
  std::vector<int> found;
  each_captured([&](int fd, const OpenFile& other) {
    if (&other == &file) found.push_back(fd);
  });
  return found;
}

int replace_descriptors(OpenFile& file, int plain) {
  for (const int fd : descriptors_of(file)) {
    const int flags = real::fcntl(fd, F_GETFD, 0);
    OpenFile* const before = exchange(fd, nullptr);
    if (real::dup3(plain, fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0) < 0) {
      const int error = errno;
      put_back(fd, nullptr, before);
      return error;
    }
    let_go(before);
  }
  return 0;
}

}  // namespace

int become_plain(const Place& place, PlainFor what) noexcept {
  int result = ENOENT;
  const int error = errno_of([&] {
    result = move_to_plain(place);
    if (result == 0) tell_once(place, what);
  });
  return error != 0 ? error : result;
}

int make_descriptors_plain(int fd) noexcept {
  std::vector<struct flock> locks;
  int error = 0;
  const int failure = errno_of([&] {
    const Use file(fd);
    if (!file) return void(error = EBADF);
    const std::string path = plain_path_of(*file);
    if (path.empty()) return void(error = ENODEV);
    Slot& slot = *file->slot.load();
    const int plain = own_descriptor(real::open(path.c_str(), slot.flags.load() | O_NOFOLLOW | O_CLOEXEC, 0));
    if (plain < 0) return void(error = errno);
    real::lseek(plain, slot.offset.load(), SEEK_SET);
    locks = process_locks_of(*file);
    error = replace_descriptors(*file, plain);
    close_own_descriptor(plain);
  });
  if (failure != 0) return failure;
  // Must be the last step, because closing any descriptor of the plain file would release the locks.
  for (struct flock& lock : locks) real::fcntl(fd, F_SETLK, reinterpret_cast<long>(&lock));
  return error;
}

}  // namespace sheaf::preload
