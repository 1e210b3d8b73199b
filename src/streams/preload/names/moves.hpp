// streams/preload/names/moves: renames of files into a set, out of a set, or between sets, by copying the
// bytes. All functions must be called within an Inside (streams/preload/inside.hpp).
//
// They return 0, or -1 with errno and both names unchanged. There is one exception: if the old file was
// removed after a complete copy, but the copy cannot get the new name, the copy remains in the set as
// NAME.sheaf. followed by a random number.
#pragma once

#include <string>

#include "streams/preload/names/places.hpp"

namespace sheaf::preload {

// Returns a temporary name for a file that is renamed to `name` when it is complete. The result is unique
// among threads, processes and hosts.
std::string temporary_name(std::string_view name);

// Implements rename(2) of a captured file to `to`, relative to `at`. `to_place` is the place of `to`; null if
// that name is not captured.
int move_captured(const Place& from, const Place* to_place, int at, const char* to, unsigned flags) noexcept;

// Converts a captured file to a plain file of the same name. Returns 0 or an errno; ENOENT if it does not
// exist.
int move_to_plain(const Place& place) noexcept;

// Implements rename(2) of a plain file `from` to a captured name. Moves the file into the set if the file has
// no other name and is not open elsewhere on this host. Otherwise returns hand_on, because later writes to
// the old file would be lost. Removes the old file before its copy gets the new name. A file that cannot be
// removed therefore replaces nothing.
int take_in(int from_at, const char* from, const Place& to, unsigned flags) noexcept;

}  // namespace sheaf::preload
