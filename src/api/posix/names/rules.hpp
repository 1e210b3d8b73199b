// api/posix/names/rules: what SHEAF_CAPTURE and SHEAF_VIEW say. Read once, by the first call that takes a
// name, into memory of our own: an allocator that opens files as it starts may be that first call.
#pragma once

#include <climits>
#include <span>
#include <string_view>

#include "capture/pattern.hpp"

namespace sheaf::posix {

struct Rule {
  std::string_view pattern;  // absolute. A view: its directory, without a `/` at the end
  std::string_view set;      // absolute; may have \1 to \9
  std::string_view begin;    // every captured name begins with it
  std::string_view last;     // every last component of a captured name begins with it
  bool view = false;         // all files below `pattern`, for reading only
  int number = 0;
};

// Empty outside of `sheaf run`. Both variables hold entries PATTERN:SET, or FILE:DIR, between which stands a
// `;` (`\;` is a semicolon of a name). Relative ones count from the directory in which the process starts.
// Never fails: what makes no sense is left out with a message on stderr.
std::span<const Rule> rules() noexcept;
// Before the C library knows its environment.
void read_rules(char* const* environment) noexcept;
// NAME=VALUE as the process found it, for SHEAF_CAPTURE and SHEAF_VIEW; null: it was not set.
const char* capture_variable(bool view) noexcept;

// What distinguishes these rules from others, for names of shared memory.
uint64_t rules_identity() noexcept;

// One canonical name against all rules.
struct Match {
  const Rule* rule = nullptr;
  std::string_view
      name;  // of the stream, in `path` as given: relative to the directory of the set, if it lies below that
  size_t set_size = 0;
  char set[PATH_MAX];  // absolute path, ends in a NUL; of a view: its directory, which several may share
};
bool match(std::string_view path, Match& found) noexcept;

// The last component of a path, without slashes behind it; empty: it has none.
std::string_view last_component(std::string_view path) noexcept;

// Whether the last component of `path`, which may be null, is one that some rule may capture. Each call with
// a name asks this first, most of them of files that are none of ours: some nanoseconds.
bool may_capture(const char* path) noexcept;

}  // namespace sheaf::posix
