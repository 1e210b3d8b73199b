// streams/preload/entries/captured_name: decides for calls with a file name whether this library or the C
// library performs them.
#pragma once

#include <fcntl.h>

#include "streams/preload/errors.hpp"
#include "streams/preload/files.hpp"
#include "streams/preload/names/links.hpp"

namespace sheaf::preload {

// Returns whether the captured file at `place` exists.
inline bool is_there(const Place& place) {
  const Inside inside;
  return status_at(place).has_value();
}

// Returns whether `path`, relative to `at`, names a captured file.
inline bool is_captured_name(int at, const char* path) {
  Place place;
  return find_place(at, path, place) && is_there(place);
}

// Returns whether a call refers to the captured descriptor `at` itself: `flags` has AT_EMPTY_PATH, and `path`
// is null or empty.
inline bool is_captured_itself(int at, const char* path, int flags) {
  return (flags & AT_EMPTY_PATH) && (!path || !*path) && is_captured(at);
}

// Performs a call on a file by name.
// - If the name denotes a captured descriptor, returns on_open(fd).
// - If it names a captured file, or with `follow` a link to one, returns on_place(place). The result hand_on
//   means that no captured file exists.
// - Otherwise returns library().
template <class OnOpen, class OnPlace, class Library>
int on_name(int at, const char* path, bool follow, const OnOpen& on_open, const OnPlace& on_place,
            const Library& library) {
  const auto behind_link = [&]() __attribute__((noinline)) {
    Place place;
    if (!find_behind_link(at, path, place)) return -1;
    const int answer = on_place(place);
    return answer == hand_on ? failed(ENOENT) : answer;
  };
  const auto of_candidate = [&]() __attribute__((noinline)) {
    if (const int fd = descriptor_named(path); fd >= 0 && follow && is_captured(fd)) return on_open(fd);
    Place place;
    if (!find_place(at, path, place)) return hand_on;
    return !place.slash ? on_place(place) : is_there(place) ? failed(ENOTDIR) : hand_on;
  };
  // Most names are not captured. A Place is large, so it is put on the stack only after this check.
  if (may_name_descriptor(path) || may_capture(path))
    if (const int answer = of_candidate(); answer != hand_on) return answer;
  const int result = int(library());
  if (result >= 0 || errno != ENOENT) return result;
  return follow ? behind_link() : explained(at, path, result);
}

// Body of a call: returns `ours`, or `theirs` (the C library) if `ours` is hand_on.
#define SHEAF_FIRST(ours, theirs) \
  const int answer = ours;        \
  return answer != hand_on ? answer : theirs

}  // namespace sheaf::preload
