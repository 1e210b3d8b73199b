// base/printable: names as they may be shown to people.
//
// A name comes from a file, a directory or a command line, and may hold anything but NUL: sequences that a
// terminal obeys, newlines that make further lines of output, or characters that turn the order of others
// around.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/export.hpp"

namespace sheaf {

// Valid UTF-8 that can be seen stays. Control characters become \n, \r, \t or \x1b, bytes that are no UTF-8
// \xff, and characters that are invisible or change the direction or the line \u202e. What is printable
// already stays the same.
SHEAF_EXPORT std::string printable(std::string_view text);

// A size as people read it: "512 bytes", "10.0 MiB".
SHEAF_EXPORT std::string in_units(int64_t bytes);

}  // namespace sheaf
