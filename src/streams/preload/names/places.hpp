// streams/preload/names/places: maps a name given by the program to a place: the canonical name of a captured
// file that exists or could be created. The canonical name is the path of the directory without symbolic
// links and `..`, and the last component. Rules are matched against this name. Matching does not check
// whether files exist. If a plain file with a matching name exists, the calls on that name must use the plain
// file.
#pragma once

#include <sys/types.h>

#include <climits>
#include <memory>
#include <string>
#include <string_view>

#include "streams/container/container_set.hpp"
#include "streams/preload/names/rules.hpp"

namespace sheaf::preload {

struct Place {
  size_t size = 0;     // length of `path`
  dev_t device = 0;    // device of the directory
  int folder = -1;     // not owned: descriptor of the directory, if looking up its path is expensive; else -1
  bool slash = false;  // the given name ends in `/`
  Match match;
  char path[PATH_MAX + NAME_MAX + 2];  // canonical

  bool view() const { return match.rule->view; }
  std::string_view directory() const { return {path, std::string_view(path, size).rfind('/')}; }
  const char* last() const { return path + directory().size() + 1; }
};

// Returns whether `path`, relative to the directory `at` (AT_FDCWD: the current one), is a captured name, and
// stores its place. Preserves errno. If `keep` is true, also sets Place::folder.
bool find_place_of_candidate(int at, const char* path, Place& place, bool keep) noexcept;
inline bool find_place(int at, const char* path, Place& place, bool keep = false) noexcept {
  return may_capture(path) && find_place_of_candidate(at, path, place, keep);
}

// Like find_place, for a canonical path.
bool match_canonical(std::string_view path, Place& place) noexcept;

// Stores the canonical path of the directory `path`, with a terminating NUL, in `room`. Returns the length of
// the canonical path, or 0 if `path` is not a directory.
size_t canonical_directory(int at, const char* path, char* room, size_t size) noexcept;

// Returns the canonical path of `name`, without trailing slashes. The file need not exist. Returns an empty
// string with errno if the directory of `name` does not exist.
std::string canonical_name(int at, std::string_view name);

// Invalidates cached directory names. Must be called after the current directory has changed, or after a
// directory was renamed or removed.
void forget_directories() noexcept;

}  // namespace sheaf::preload
