// streams/preload/names/rules: the rules in SHEAF_CAPTURE and SHEAF_VIEW. The first call that takes a name
// reads them, into memory of this library. An allocator that opens files at startup may make that first call.
#pragma once

#include <climits>
#include <span>
#include <string_view>

#include "streams/capture/pattern.hpp"

namespace sheaf::posix {

struct Rule {
  std::string_view pattern;  // absolute. View: its directory, without a trailing `/`
  std::string_view set;      // absolute; may contain \1 to \9
  std::string_view begin;    // common prefix of all captured names
  std::string_view last;     // common prefix of the last components of all captured names
  bool view = false;         // read-only view of all files below `pattern`
  int number = 0;
};

// Returns the rules; empty outside of `sheaf run`. Both variables hold entries PATTERN:SET or FILE:DIR
// separated by `;` (`\;` denotes a semicolon in a name). Relative paths refer to the directory in which the
// process starts. Never fails: invalid entries are ignored with a message on stderr.
std::span<const Rule> rules() noexcept;
// Reads the rules before the C library has initialized its environment.
void read_rules(char* const* environment) noexcept;
// Returns NAME=VALUE of SHEAF_CAPTURE or SHEAF_VIEW at process start; null if unset.
const char* capture_variable(bool view) noexcept;

// Returns a hash that distinguishes these rules from others, for names of shared memory.
uint64_t rules_identity() noexcept;

// Result of matching a canonical name against all rules.
struct Match {
  const Rule* rule = nullptr;
  std::string_view name;  // stream name within `path`; relative to the directory of the set if below it
  size_t set_size = 0;
  char set[PATH_MAX];  // absolute path with NUL; for a view its directory, which several may share
};
bool match(std::string_view path, Match& found) noexcept;

// Returns the last component of a path without trailing slashes; empty if it has none.
std::string_view last_component(std::string_view path) noexcept;

// Returns whether a rule may capture the last component of `path` (may be null). Every call with a name
// starts with this check, mostly for files that are not captured. It takes a few nanoseconds.
bool may_capture(const char* path) noexcept;

}  // namespace sheaf::posix
