// storage/text_source: text that a file holds or a program prints: tables of a site that the environment
// names.
#pragma once

#include <string>
#include <string_view>

namespace sheaf {

inline constexpr size_t most_source_bytes = 4 << 20;

// Whether a word is "file:PATH" or "cmd:PROGRAM".
bool is_text_source(std::string_view word);

// The text of "file:PATH", or what "cmd:PROGRAM" prints; PROGRAM goes to the shell and has to end with 0.
// Throws what opening says, io for a program that fails, and invalid_argument for more than
// most_source_bytes.
std::string read_text_source(std::string_view word);

}  // namespace sheaf
