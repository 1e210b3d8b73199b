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

// Keeps visible characters in valid UTF-8. Escapes control characters as \n, \r, \t or \x1b, and bytes that
// are not UTF-8 as \xff. Escapes invisible characters, and those that end a line or change the direction of
// text, as \u202e. Returns printable text unchanged.
SHEAF_EXPORT std::string printable(std::string_view text);

// Formats a size in the largest binary unit that does not exceed it: "512 bytes", "10.0 MiB".
SHEAF_EXPORT std::string in_units(int64_t bytes);

}  // namespace sheaf
