// base/parse: parses numbers, sizes and words from the environment, hints, open modes and command lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/export.hpp"

namespace sheaf {

// Returns `text` without leading and trailing blanks, tabs and newlines.
SHEAF_EXPORT std::string_view trimmed(std::string_view text);

// Removes the first word from a comma-separated list and returns it trimmed.
SHEAF_EXPORT std::string_view take_word(std::string_view& list);

// Returns the leading words of a blank-separated list that fit into `max` bytes. Cuts the first word if it
// does not fit.
SHEAF_EXPORT std::string_view whole_words(std::string_view list, size_t max);

// Parses a decimal number that spans the whole text. Returns nullopt for other text or more than 63 bits.
SHEAF_EXPORT std::optional<int64_t> parse_number(std::string_view text);

// Parses a size in bytes, >= 0, with an optional unit. k, M, G, T and KiB, MiB, GiB, TiB are powers of 1024;
// kB, MB, GB, TB are powers of 1000. Case does not matter. Returns nullopt for other text or more than 63
// bits.
SHEAF_EXPORT std::optional<int64_t> parse_bytes(std::string_view text);

}  // namespace sheaf
