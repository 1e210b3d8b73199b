// api/posix/entries/captured_name: what calls with names ask first.
#pragma once

#include <fcntl.h>

#include "api/posix/errors.hpp"
#include "api/posix/files.hpp"
#include "api/posix/names/links.hpp"

namespace sheaf::posix {

// Whether a captured file has this place.
inline bool is_there(const Place& place) {
  const Inside inside;
  return status_at(place).has_value();
}

// Whether a captured file has this name.
inline bool is_captured_name(int at, const char* path) {
  Place place;
  return find_place(at, path, place) && is_there(place);
}

// Whether a call with AT_EMPTY_PATH is one on a captured descriptor.
inline bool is_captured_itself(int at, const char* path, int flags) {
  return (flags & AT_EMPTY_PATH) && (!path || !*path) && is_captured(at);
}

// A call on a file by its name. on_open(fd) answers it for a descriptor that the name stands for, where that
// is a captured file; on_place(place) for a captured file of that name or, with `follow`, at the end of a
// link of that name: hand_on, there is none. Else `library` does.
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
  // Most names are none of ours: room for a place is made behind this only.
  if (may_name_descriptor(path) || may_capture(path))
    if (const int answer = of_candidate(); answer != hand_on) return answer;
  const int result = int(library());
  if (result >= 0 || errno != ENOENT) return result;
  return follow ? behind_link() : explained(at, path, result);
}

// The body of a call: what ours says, else what the C library does.
#define SHEAF_FIRST(ours, theirs) \
  const int answer = ours;        \
  return answer != hand_on ? answer : theirs

}  // namespace sheaf::posix
