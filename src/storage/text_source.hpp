// storage/text_source: reads text from a file or from the output of a program, for site tables named in the
// environment.
#pragma once

#include <string>
#include <string_view>

namespace sheaf {

inline constexpr size_t max_source_bytes = 4 << 20;

// Returns true for words "file:PATH" and "cmd:PROGRAM".
bool is_text_source(std::string_view word);

// Returns the text of "file:PATH", or the output of "cmd:PROGRAM". The shell runs PROGRAM, which must exit
// with 0. Throws the errors of an open, io if the program fails, and invalid_argument for more than
// max_source_bytes.
std::string read_text_source(std::string_view word);

}  // namespace sheaf
