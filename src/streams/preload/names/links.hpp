// streams/preload/names/links: names that refer to captured files indirectly: symbolic links, and names of
// descriptors. For the kernel, a symbolic link to a captured file is dangling.
#pragma once

#include <cerrno>

#include "streams/preload/names/places.hpp"

namespace sheaf::preload {

// Returns whether `path` is a symbolic link to a captured file, and stores the place of that file. With
// `missing`, also accepts a link to a captured name that does not exist. Called for names for which the
// kernel has returned ENOENT. Changes errno to ENOTDIR if `path` uses a captured file as a directory.
bool find_behind_link(int at, const char* path, Place& place, bool missing = false) noexcept;

// Corrects the result of a call on a name: changes errno from ENOENT to ENOTDIR if `path` uses a captured
// file as a directory.
void explain(int at, const char* path) noexcept;
template <class Result>
Result explained(int at, const char* path, Result result) noexcept {
  if (result < 0 && errno == ENOENT && path) explain(at, path);
  return result;
}

// descriptor_named() returns the number of the descriptor that `path` names, or -1 for other names. It
// accepts /dev/fd/N, /dev/stdin, /dev/stdout, /dev/stderr and /proc/self/fd/N. Instead of `self`, it also
// accepts `thread-self` and the number of this process. may_name_descriptor() rejects most names cheaply.
int descriptor_named_below(const char* path) noexcept;
inline bool may_name_descriptor(const char* path) noexcept {
  return path && path[0] == '/' && (path[1] == 'd' || path[1] == 'p');
}
inline int descriptor_named(const char* path) noexcept {
  return may_name_descriptor(path) ? descriptor_named_below(path) : -1;
}

// Implements open(2) of a path that names the captured descriptor `fd`. Creates another open file of the same
// stream.
int open_again(int fd, int flags) noexcept;
// names_other_process() returns whether `path` may be /proc/PID/fd/N. open_of_other_process() implements
// open(2) of such a path. If the descriptor is not captured, it returns hand_on, and the caller must pass the
// call to the operating system.
bool names_other_process(const char* path) noexcept;
int open_of_other_process(const char* path, int flags) noexcept;

}  // namespace sheaf::preload
