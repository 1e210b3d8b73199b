// streams/preload/names/becoming_plain: converts captured files to plain files when a program uses them in
// ways that only plain files support: with several names, or with writable shared mappings. The file leaves
// its set and becomes a plain file for all programs of this host that have it open. One message per job
// reports the conversion.
#pragma once

#include "streams/preload/names/places.hpp"

namespace sheaf::preload {

enum class PlainFor : uint8_t { names, mappings };

// Converts the captured file of that name to a plain file. Must be called within an Inside
// (streams/preload/inside.hpp). Returns 0 or an errno; ENOENT if no such file exists.
int become_plain(const Place& place, PlainFor what) noexcept;

// Converts the captured file of `fd` to a plain file unless it is one already. The descriptors of this
// process that share its open file become descriptors of the plain file, with the same position, flags and
// locks. Must be called within an Inside. Returns 0 or an errno; ENODEV if the file has no name or is open
// for reading only.
int make_descriptors_plain(int fd) noexcept;

}  // namespace sheaf::preload
