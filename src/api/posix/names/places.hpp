// api/posix/names/places: from a name that a program gives to a captured file. Whether a name is captured is
// decided on its canonical form: the directory as the system knows it, without symbolic links and `..`, then
// the last component. A file that is there as a plain file stays one; so a place is only where a captured
// file is or would be.
#pragma once

#include <sys/types.h>

#include <climits>
#include <memory>
#include <string>
#include <string_view>

#include "api/posix/names/rules.hpp"
#include "container/container_set.hpp"

namespace sheaf::posix {

struct Place {
  size_t size = 0;     // of `path`
  dev_t device = 0;    // of its directory
  int folder = -1;     // a descriptor of that, where to walk there again would ask servers; not the caller's
  bool slash = false;  // the name given ends in `/`
  Match match;
  char path[PATH_MAX + NAME_MAX + 2];  // canonical

  bool view() const { return match.rule->view; }
  std::string_view directory() const { return {path, std::string_view(path, size).rfind('/')}; }
  const char* last() const { return path + directory().size() + 1; }
};

// Whether `path`, counted from the directory `at` (AT_FDCWD: the current one), is a name that is captured.
// errno stays as it is. keep: Place::folder is wanted.
bool find_place_of_candidate(int at, const char* path, Place& place, bool keep) noexcept;
inline bool find_place(int at, const char* path, Place& place, bool keep = false) noexcept {
  return may_capture(path) && find_place_of_candidate(at, path, place, keep);
}

// The same for the file of a canonical path.
bool match_canonical(std::string_view path, Place& place) noexcept;

// The canonical path of a directory; 0: it is none. `room` gets a NUL behind it.
size_t canonical_directory(int at, const char* path, char* room, size_t size) noexcept;

// The canonical path of what `name` is or would be, without slashes at its end; empty, with errno: its
// directory is none.
std::string canonical_name(int at, std::string_view name);

// Directories may have other names from now on: the current one has changed, or one was renamed or removed.
void forget_directories() noexcept;

}  // namespace sheaf::posix
