// streams/preload/names/rules: the rules in SHEAF_CAPTURE and SHEAF_VIEW. The constructor of this library or
// an earlier call with a file name parses them. That call may come from an allocator that opens files while
// it starts, so the rules are stored in static memory.
#pragma once

#include <climits>
#include <span>
#include <string_view>

#include "streams/capture/pattern.hpp"

namespace sheaf::preload {

struct Rule {
  std::string_view pattern;  // absolute pattern, or directory of a view without a trailing `/`
  std::string_view set;      // absolute path; may contain \1 to \9
  std::string_view begin;    // common prefix of all captured names
  std::string_view last;     // common prefix of the last components of all captured names
  bool view = false;         // read-only view of all files below `pattern`
  int number = 0;
};

// Returns the rules; empty outside of `sheaf run`. Both variables hold entries PATTERN:SET or FILE:DIR
// separated by `;` (`\;` denotes a semicolon in a name). Relative paths refer to the directory in which the
// process starts. Never fails: invalid entries are ignored with a message on stderr.
std::span<const Rule> rules() noexcept;
// Parses the rules from `environment`. For callers that may run before the C library has set `environ`.
void read_rules(char* const* environment) noexcept;
// Returns the entry NAME=VALUE of SHEAF_CAPTURE, or with `view` of SHEAF_VIEW, as of process start. Returns
// null if the variable was unset.
const char* capture_variable(bool view) noexcept;

// Returns a hash that distinguishes these rules from others, for names of shared memory.
uint64_t rules_identity() noexcept;

// Result of matching a canonical name against all rules.
struct Match {
  const Rule* rule = nullptr;
  // Name of the stream in the set; refers to the memory of the matched path. The name is relative to the
  // directory of the set if the path is below that directory, otherwise it is the whole path.
  std::string_view name;
  size_t set_size = 0;
  // Absolute path of the set, terminated by NUL. For a view, the directory of the view; several views may
  // have the same directory.
  char set[PATH_MAX];
};
bool match(std::string_view path, Match& found) noexcept;

// Returns the last component of a path without trailing slashes; empty if it has none.
std::string_view last_component(std::string_view path) noexcept;

// Returns whether a rule may capture the last component of `path` (may be null). Every call with a name
// starts with this check, and most names are not captured. It therefore takes only a few nanoseconds.
bool may_capture(const char* path) noexcept;

}  // namespace sheaf::preload
