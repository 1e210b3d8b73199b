// streams/capture/capture_rule: a capture rule as users write it, PATTERN:SET, and the files on disk that it
// applies to. For `sheaf run`; the preload library has a separate parser without memory allocation
// (streams/preload/names/rules.hpp).
#pragma once

#include <string>
#include <vector>

#include "base/export.hpp"
#include "storage/file.hpp"

namespace sheaf {

struct CaptureRule {
  std::string pattern;  // absolute; no symbolic links in directories before the first special byte
  std::string set;      // absolute, as above; may contain \1 to \9
};

// Parses a rule; relative paths start at the current directory. Throws `invalid_argument` if `text` is not
// PATTERN:SET.
SHEAF_EXPORT CaptureRule capture_rule(const std::string& text);

// Throws `invalid_argument` if a pattern has two sets, or a set refers to a group that its pattern lacks.
SHEAF_EXPORT void check_rules(const std::vector<CaptureRule>& rules);

// Returns an entry of SHEAF_CAPTURE; each `;` in it is written as `\;`.
SHEAF_EXPORT std::string entry_of(const std::string& first, const std::string& second);

// Returns the sorted paths of the plain files that match the pattern, excluding files of the rule's sets.
SHEAF_EXPORT std::vector<std::string> plain_files_of(const CaptureRule& rule);

// Returns the sorted paths of the rule's sets that have containers.
SHEAF_EXPORT std::vector<std::string> sets_with_containers(const CaptureRule& rule);

// Returns whether preloading has no effect on the program, found as by execvp(3): it is linked statically, or
// runs with other privileges than the user's. Returns false for unreadable files.
SHEAF_EXPORT bool is_static_program(const char* name) noexcept;

}  // namespace sheaf
