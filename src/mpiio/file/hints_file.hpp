// mpiio/file/hints_file: hints that a user or a site gives to all programs in a text file, in ROMIO's format.
//
// Each line has a key, blanks, and the value up to the end of the line. '#' starts a comment. If a key occurs
// twice, the first valid line counts, as in ROMIO.
#pragma once

#include "mpiio/file/hints.hpp"
#include "storage/file.hpp"

namespace sheaf {

// The environment variable that names the file. If it is not set, the site's file is read if it exists.
inline constexpr const char* hints_variable = "ROMIO_HINTS";
inline constexpr const char* site_hints = "/etc/romio-hints";

// Local; for the one task that sends the hints to the others. Applies the hints of the file. Unknown keys are
// ignored. Invalid values and an unreadable file are ignored with a warning (base/setting).
void take_hints_file(Store& store, Hints& hints);

}  // namespace sheaf
