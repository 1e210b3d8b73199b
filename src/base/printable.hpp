// base/printable: makes names safe to print.
//
// A name from a file, a directory or a command line may contain any byte except NUL: terminal escape
// sequences, newlines that forge output lines, or characters that reverse the text direction.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/export.hpp"

namespace sheaf {

// Returns `text` with the following escaped: control characters as \n, \r, \t or \x1b; bytes that are not
// valid UTF-8 as \xff; invisible characters, line separators and characters that change the text direction as
// \u202e or \U000e0001. Keeps all other characters.
SHEAF_EXPORT std::string printable(std::string_view text);

// Formats a number of bytes with one decimal in the largest binary unit that makes it at least 1: "512
// bytes", "10.0 MiB".
SHEAF_EXPORT std::string in_units(int64_t bytes);

}  // namespace sheaf
