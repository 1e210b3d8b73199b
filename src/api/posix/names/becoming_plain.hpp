// api/posix/names/becoming_plain: captured files that are used as only files of the file system can be: with
// several names, or mapped to be written and shared. Such a file leaves its set and is a plain file from then
// on, for all programs of this host that have it open. One message for a job says so.
#pragma once

#include "api/posix/names/places.hpp"

namespace sheaf::posix {

enum class PlainFor : uint8_t { names, mappings };

// All inside; 0 or an errno. The captured file of that name becomes plain. ENOENT: there is none.
int become_plain(const Place& place, PlainFor what) noexcept;

// The captured file of `fd` becomes plain, unless it is already, and the descriptors of this process that
// share its open file are descriptors of the plain file, with its position, flags and locks. ENODEV: it has
// no name, or is only for reading.
int make_descriptors_plain(int fd) noexcept;

}  // namespace sheaf::posix
