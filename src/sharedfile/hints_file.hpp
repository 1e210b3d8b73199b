// sharedfile/hints_file: hints that a user or a site gives to all programs in a text file, as ROMIO's users
// know it.
//
// One hint per line: a key, blanks, and its value to the end of the line. '#' begins a comment. Of two lines
// with one key the first valid one counts, as with ROMIO.
#pragma once

#include "sharedfile/hints.hpp"
#include "storage/file.hpp"

namespace sheaf {

// The variable that names the file. Where it is not set, the site's is read, if there is one.
inline constexpr const char* hints_variable = "ROMIO_HINTS";
inline constexpr const char* site_hints = "/etc/romio-hints";

// Takes over what the file says. Unknown keys are ignored; so are values that are not understood, and a file
// that cannot be read, each with a warning (base/setting). Local, for the one task that tells the others.
void take_hints_file(Store& store, Hints& hints);

}  // namespace sheaf
