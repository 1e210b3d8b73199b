// api/posix/entries/captured_name: what calls with names ask first.
#pragma once

#include "api/posix/files.hpp"

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

// The body of a call: what ours says, else what the C library does.
#define SHEAF_FIRST(ours, theirs) \
  const int answer = ours;        \
  return answer != hand_on ? answer : theirs

}  // namespace sheaf::posix
