// streams/preload/entries/open: the entry points of the open and mkstemp families.
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "streams/preload/duplicates.hpp"
#include "streams/preload/entries/handing_over.hpp"
#include "streams/preload/errors.hpp"
#include "streams/preload/files.hpp"
#include "streams/preload/names/links.hpp"
#include "streams/preload/opening.hpp"
#include "streams/preload/own_descriptors.hpp"
#include "streams/preload/real.hpp"
#include "streams/preload/stdio/standard_streams.hpp"

namespace sheaf::preload {

namespace {

namespace next {
constinit Real<int(char*, int, int)> mkostemps{"mkostemps64"};
}  // namespace next

// Runs open(), which opens a captured file in this process, and updates the standard stream of the new
// descriptor. In a child of vfork(2), runs open() in a helper process.
template <class Open>
int open_shown(const Open& open, int flags) {
  pthread_testcancel();
  return borrows_memory() ? by_another_process(open, flags) : shown_standard_stream(open());
}

int open_inside(const Place& place, int flags, mode_t mode) {
  const auto open = [&] {
    const Inside inside;
    return open_captured(place, flags, mode);
  };
  return open_shown(open, flags);
}

// Opens a name that is not captured but may be a link to a captured file. With O_CREAT, the kernel would
// create the target of such a link as a plain file. Therefore the first open then uses O_NOFOLLOW, and only
// names that are links need a second open. The flag stays on the open file without effect; F_GETFL hides it.
int open_plain(int at, const char* path, int flags, mode_t mode) {
  const bool makes = (flags & O_CREAT) && !(flags & (O_EXCL | O_NOFOLLOW | O_PATH));
  const int fd = new_descriptor(real::openat(at, path, makes ? flags | O_NOFOLLOW : flags, mode));
  const bool again = makes && errno == ELOOP;
  if (fd >= 0 || (errno != ENOENT && !again)) return fd;
  if (flags & (O_NOFOLLOW | O_EXCL)) return explained(at, path, fd);
  Place place;
  const bool found = find_behind_link(at, path, place, makes);
  if (!found && !again) return -1;
  const int behind = found ? open_inside(place, flags, mode) : hand_on;
  if (behind != hand_on) return behind;
  return again ? new_descriptor(real::openat(at, path, flags, mode)) : failed(ENOENT);
}

}  // namespace

int open_name(int at, const char* path, int flags, mode_t mode) {
  if (is_inside()) return own_descriptor(real::openat(at, path, flags, mode));
  if (rules().empty()) return real::openat(at, path, flags, mode);
  if (const int named = descriptor_named(path); named >= 0 && is_captured(named))
    return open_shown([&] { return open_again(named, flags); }, flags);
  if (names_other_process(path)) {
    const int fd = open_shown([&] { return open_of_other_process(path, flags); }, flags);
    if (fd != hand_on) return fd;
  }
  Place place;
  if (find_place(at, path, place, true)) return open_place(place, at, path, flags, mode);
  return open_plain(at, path, flags, mode);
}

int open_place(const Place& place, int at, const char* path, int flags, mode_t mode) {
  if (const int fd = open_inside(place, flags, mode); fd != hand_on) return fd;
  return open_plain(at, path, flags, mode);
}

namespace {

// Implements the mkstemp family for a template `name` that is captured. Returns a descriptor, -1 with errno,
// or hand_on if `name` is not captured.
int temporary(char* name, int suffix, int flags) {
  const size_t size = strlen(name);
  Place place;
  if (suffix < 0 || size < 6 + size_t(suffix) || memcmp(name + size - 6 - size_t(suffix), "XXXXXX", 6) != 0)
    return hand_on;
  if (!find_place(AT_FDCWD, name, place)) return hand_on;
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  for (int attempt = 0; attempt < 1000; ++attempt) {
    unsigned char random[6];
    if (getrandom(random, sizeof random, 0) != sizeof random) break;
    for (size_t i = 0; i < sizeof random; ++i) name[size - 6 - size_t(suffix) + i] = letters[random[i] % 62];
    const int fd = open_name(AT_FDCWD, name, (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return failed(EEXIST);
}

int make_temporary(char* name, int suffix, int flags) {
  const int fd = temporary(name, suffix, flags);
  return fd == hand_on ? explained(AT_FDCWD, name, new_descriptor(next::mkostemps(name, suffix, flags))) : fd;
}

}  // namespace

SHEAF_ENTRY_AND(int, open, open64, const char* path, int flags, mode_t mode) {
  return open_name(AT_FDCWD, path, flags, mode);
}
SHEAF_ALSO(open, __open64);
SHEAF_ALSO(open, __open);
SHEAF_ENTRY_AND(int, __open_2, __open64_2, const char* path, int flags) {
  return open_name(AT_FDCWD, path, flags, 0);
}
SHEAF_ENTRY_AND(int, openat, openat64, int at, const char* path, int flags, mode_t mode) {
  return open_name(at, path, flags, mode);
}
SHEAF_ENTRY_AND(int, __openat_2, __openat64_2, int at, const char* path, int flags) {
  return open_name(at, path, flags, 0);
}
SHEAF_ENTRY_AND(int, creat, creat64, const char* path, mode_t mode) {
  return open_name(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
SHEAF_ENTRY_AND(int, mkstemp, mkstemp64, char* name) { return make_temporary(name, 0, 0); }
SHEAF_ENTRY_AND(int, mkostemp, mkostemp64, char* name, int flags) { return make_temporary(name, 0, flags); }
SHEAF_ENTRY_AND(int, mkstemps, mkstemps64, char* name, int suffix) { return make_temporary(name, suffix, 0); }
SHEAF_ENTRY_AND(int, mkostemps, mkostemps64, char* name, int suffix, int flags) {
  return make_temporary(name, suffix, flags);
}

}  // namespace sheaf::preload
