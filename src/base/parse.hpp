// base/parse: numbers, sizes and words as people write them: in the environment, in hints, in open modes and
// on command lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/export.hpp"

namespace sheaf {

// Without blanks, tabs and newlines at both ends.
SHEAF_EXPORT std::string_view trimmed(std::string_view text);

// Takes the next word, trimmed, off a list with commas.
SHEAF_EXPORT std::string_view take_word(std::string_view& list);

// The words of a list with blanks that fit into `most` bytes; a first word that does not is cut.
SHEAF_EXPORT std::string_view whole_words(std::string_view list, size_t most);

// A whole decimal number and nothing else; nothing if it is none, or has more than 63 bits.
SHEAF_EXPORT std::optional<int64_t> parse_number(std::string_view text);

// Bytes >= 0: a number, and maybe a unit. k, M, G, T, as KiB, MiB, GiB, TiB, are powers of 1024; kB, MB, GB,
// TB powers of 1000. The letter may be large or small.
SHEAF_EXPORT std::optional<int64_t> parse_bytes(std::string_view text);

}  // namespace sheaf
