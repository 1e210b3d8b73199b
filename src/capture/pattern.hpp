// capture/pattern: which names are captured, and the set they belong to. Pure functions over text
// (docs/capture.md, "Patterns").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/export.hpp"

namespace sheaf {

// What the groups (...) of a pattern stand for in a name that matches: parts of that name; empty for groups
// there are not.
using Groups = std::array<std::string_view, 9>;

// `*` any bytes but `/`, `**` also those, `?` one byte but `/`, `[a-z]` `[!a-z]` one of them, `(...)` a
// group, `\` before a byte: that byte. Stars match as little as they can. Linear in the name but for the
// stars.
SHEAF_EXPORT bool matches(std::string_view pattern, std::string_view name, Groups& groups) noexcept;

// The bytes of `pattern` before the first that is not itself: every name that matches begins with them.
SHEAF_EXPORT std::string_view literal_begin(std::string_view pattern) noexcept;
// The same of its last component, behind the last `/`; empty if that may hold a `/`.
SHEAF_EXPORT std::string_view last_literal_begin(std::string_view pattern) noexcept;

// `set` with its `\1` to `\9` replaced by groups, into `room`; the bytes written, 0 if they do not fit.
SHEAF_EXPORT size_t expand(std::string_view set, const Groups& groups, char* room, size_t size) noexcept;

// Whether a name below `directory` (absolute, without a `/` at its end) may match: what a listing of it is
// worth asking for.
SHEAF_EXPORT bool may_hold(std::string_view pattern, std::string_view directory) noexcept;

// Whether the file is the set itself or one of those beside it, which no pattern captures: `set`, `set.*`,
// `set/...`.
SHEAF_EXPORT bool belongs_to_set(std::string_view set, std::string_view file) noexcept;

// What distinguishes the rules of one job from those of another: a hash of both variables (SHEAF_CAPTURE and
// SHEAF_VIEW), for names of shared memory.
SHEAF_EXPORT uint64_t rules_hash(std::string_view capture, std::string_view view) noexcept;

}  // namespace sheaf
