// streams/capture/capture_rule: a capture rule as users write it, PATTERN:SET, and the files on disk that it
// applies to. `sheaf run` uses this parser; the preload library has another one, which allocates no memory
// (streams/preload/names/rules.hpp).
#pragma once

#include <string>
#include <vector>

#include "base/export.hpp"
#include "storage/file.hpp"

namespace sheaf::streams {

struct CaptureRule {
  std::string pattern;  // absolute; directories before the first special byte have no symbolic links
  std::string set;      // absolute, without symbolic links in directories; may contain \1 to \9
};

// Parses a rule; relative paths start at the current directory. Throws `invalid_argument` if `text` is not
// PATTERN:SET.
SHEAF_EXPORT CaptureRule capture_rule(const std::string& text);

// Throws `invalid_argument` if a pattern has two sets, or a set refers to a group that its pattern lacks.
SHEAF_EXPORT void check_rules(const std::vector<CaptureRule>& rules);

// Returns the entry FIRST:SECOND for SHEAF_CAPTURE or SHEAF_VIEW. Writes each `;` as `\;`.
SHEAF_EXPORT std::string entry_of(const std::string& first, const std::string& second);

// Returns the sorted paths of the plain files that match the pattern, excluding files of the rule's sets.
SHEAF_EXPORT std::vector<std::string> plain_files_of(const CaptureRule& rule);

// Returns the sorted paths of the rule's sets that have containers.
SHEAF_EXPORT std::vector<std::string> sets_with_containers(const CaptureRule& rule);

}  // namespace sheaf::streams
