// streams/capture/pattern: decides which names are captured, and maps them to sets. Pure functions on text
// (docs/capture.md, "Patterns").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/export.hpp"

namespace sheaf::streams {

// The parts of a matching name that the groups (...) of a pattern have matched. The entry of a group that the
// pattern lacks is empty.
using Groups = std::array<std::string_view, 9>;

// Matches `name` against `pattern`. `*`: any bytes except `/`; `**`: any bytes; `?`: one byte except `/`;
// `[a-z]`, `[!a-z]`: one byte of a class; `(...)`: a group; `\`: the following byte literally. Stars match as
// little as possible. Time is linear in the length of the name, apart from backtracking at stars.
SHEAF_EXPORT bool matches(std::string_view pattern, std::string_view name, Groups& groups) noexcept;

// Returns the literal prefix of `pattern`, with which each matching name begins.
SHEAF_EXPORT std::string_view literal_begin(std::string_view pattern) noexcept;
// Returns the literal prefix of the last component of `pattern`, after the last `/`. Empty if that component
// may match a `/`.
SHEAF_EXPORT std::string_view last_literal_begin(std::string_view pattern) noexcept;

// Writes `set` with `\1` to `\9` replaced by groups to `room`, which has `size` bytes. Returns the number of
// bytes written, or 0 if the result does not fit.
SHEAF_EXPORT size_t expand(std::string_view set, const Groups& groups, char* room, size_t size) noexcept;

// Returns whether a name below `directory` may match `pattern`. `directory` is absolute, without a trailing
// `/`.
SHEAF_EXPORT bool may_hold(std::string_view pattern, std::string_view directory) noexcept;

// Returns whether `file` is the set itself or one of its own files, which no pattern captures: `set`,
// `set.*`, `set/...`.
SHEAF_EXPORT bool belongs_to_set(std::string_view set, std::string_view file) noexcept;

// Returns a hash of SHEAF_CAPTURE and SHEAF_VIEW. Names of shared memory contain it, so that jobs with
// different rules use different names.
SHEAF_EXPORT uint64_t rules_hash(std::string_view capture, std::string_view view) noexcept;

}  // namespace sheaf::streams
