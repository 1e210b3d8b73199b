// streams/preload/names/moves: renames of files into a set, out of a set, or between sets, by copying the
// bytes. All functions must be called within an Inside (streams/preload/inside.hpp).
//
// They return 0, or -1 with errno and both names unchanged. One exception: if the copy is complete and the
// old file removed, but the new name cannot be taken, the bytes remain in the set as NAME.sheaf. followed by
// a random number.
#pragma once

#include <string>

#include "streams/preload/names/places.hpp"

namespace sheaf::posix {

// Returns a unique name, across threads, processes and hosts, for a file that becomes `name` when complete.
std::string temporary_name(std::string_view name);

// rename(2) of a captured file. `to_place` is null if the new name is not captured. `to` is the name as
// given, relative to `at`.
int move_captured(const Place& from, const Place* to_place, int at, const char* to, unsigned flags) noexcept;

// Converts a captured file to a plain file of the same name. Returns 0 or an errno; ENOENT if it does not
// exist.
int move_to_plain(const Place& place) noexcept;

// rename(2) of a plain file `from` to a captured name. Moves the file into the set if no process has it open
// for writing and it has no other name. Otherwise returns hand_on, because later writes would be lost. The
// file is removed from its directory before its bytes take the new name. A file that cannot be removed
// therefore replaces nothing.
int take_in(int from_at, const char* from, const Place& to, unsigned flags) noexcept;

}  // namespace sheaf::posix
