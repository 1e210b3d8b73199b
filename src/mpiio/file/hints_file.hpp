// mpiio/file/hints_file: reads hints from a text file in ROMIO's format. A user or a site provides the file,
// and its hints apply to all programs.
//
// Each line has a key, blanks, and the value up to the end of the line. '#' starts a comment. If a key occurs
// twice, the first valid line counts, as in ROMIO.
#pragma once

#include "mpiio/file/hints.hpp"
#include "storage/file.hpp"

namespace sheaf::mpiio {

// Environment variable with the path of the file of hints. If the variable is not set, the file `site_hints`
// is read, unless it does not exist.
inline constexpr const char* hints_variable = "ROMIO_HINTS";
inline constexpr const char* site_hints = "/etc/romio-hints";

// Applies the hints of the file to `hints`. Unknown keys are ignored. Invalid values and an unreadable file
// are ignored with a warning (base/setting). Local; only the task that broadcasts the hints calls it.
void take_hints_file(Store& store, Hints& hints);

}  // namespace sheaf::mpiio
