// mpiio/file/hints_file: reads the default hints of a user or a site from a text file in ROMIO's format.
//
// Each line has a key, blanks, and the value up to the end of the line. '#' starts a comment. If a key occurs
// twice, the first valid line counts, as in ROMIO.
#pragma once

#include "mpiio/file/hints.hpp"
#include "storage/file.hpp"

namespace sheaf {

// Environment variable with the path of the file. The default path is site_hints, which may be missing.
inline constexpr const char* hints_variable = "ROMIO_HINTS";
inline constexpr const char* site_hints = "/etc/romio-hints";

// Applies the hints of the file to `hints`. Ignores unknown keys. Ignores invalid values and an unreadable
// file with a warning (base/setting). Local: one task calls it and broadcasts the result.
void take_hints_file(Store& store, Hints& hints);

}  // namespace sheaf
