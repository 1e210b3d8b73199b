// capture/capture_rule: a rule as people write it, PATTERN:SET, and what there is on disk that belongs to it.
// For `sheaf run`; the preload has its own reader, which needs no memory from others
// (api/posix/names/rules.hpp).
#pragma once

#include <string>
#include <vector>

#include "base/export.hpp"
#include "storage/file.hpp"

namespace sheaf {

struct CaptureRule {
  std::string pattern;  // absolute; directories before its first special byte without symbolic links
  std::string set;      // absolute, the same; may have \1 to \9
};

// Throws invalid_argument for what is no PATTERN:SET. Relative names count from the current directory.
SHEAF_EXPORT CaptureRule capture_rule(const std::string& text);

// Throws invalid_argument if a pattern is given two sets, or a set has a group that its pattern has not.
SHEAF_EXPORT void check_rules(const std::vector<CaptureRule>& rules);

// As an entry of SHEAF_CAPTURE: a `;` in it is `\;`.
SHEAF_EXPORT std::string entry_of(const std::string& first, const std::string& second);

// Paths of the plain files that match the pattern, sorted: not those of its sets.
SHEAF_EXPORT std::vector<std::string> plain_files_of(const CaptureRule& rule);

// Paths of the sets of the rule of which there are containers, sorted.
SHEAF_EXPORT std::vector<std::string> sets_with_containers(const CaptureRule& rule);

// Whether the program, found as execvp(3) would, is one that no preload meets: linked statically, or run with
// other rights than those of the user. False for what cannot be read.
SHEAF_EXPORT bool is_static_program(const char* name) noexcept;

}  // namespace sheaf
