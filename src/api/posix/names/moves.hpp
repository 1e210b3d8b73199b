// api/posix/names/moves: files that a rename brings into a set, out of it, or from one into another: bytes
// are copied there. All inside; 0, or -1 with errno, and then both names are as they were, unless the copy
// was complete, the old file gone, and the new name could not be had: then the bytes are in the set, as
// NAME.sheaf. and a random number.
#pragma once

#include <string>

#include "api/posix/names/places.hpp"

namespace sheaf::posix {

// Of what becomes `name` when it is complete: no other thread, process or host has this one.
std::string temporary_name(std::string_view name);

// rename(2) of a captured file. `to_place`: null if the new name is not captured; `to`: the name as given,
// from `at`.
int move_captured(const Place& from, const Place* to_place, int at, const char* to, unsigned flags) noexcept;

// Makes a plain file of the same name of a captured one. 0 or an errno; ENOENT: there is none.
int move_to_plain(const Place& place) noexcept;

// rename(2) of a plain file `from` to a captured name: taken in if nobody has it open for writing and it has
// no other name; else hand_on, because bytes that are still to be written would be lost. It leaves its
// directory before its bytes get the name: what cannot be removed there replaces nothing.
int take_in(int from_at, const char* from, const Place& to, unsigned flags) noexcept;

}  // namespace sheaf::posix
