// base/warnings: collects the warnings of calls that succeed.
//
// Modules below the interface append warnings to a list of the calling thread. When the call returns, the
// interface takes the list and prints the warnings (base/report). The list keeps at most 16 warnings, because
// some callers never take them.
#pragma once

#include <string>
#include <vector>

#include "base/export.hpp"

namespace sheaf {

// Adds one sentence without a final period, as in Error. Never throws; drops the warning if the list is full
// or memory is exhausted.
void add_warning(std::string text) noexcept;

bool any_warnings() noexcept;
SHEAF_EXPORT std::vector<std::string> take_warnings();

}  // namespace sheaf
