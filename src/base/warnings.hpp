// base/warnings: warnings of calls that succeed.
//
// Modules below the interface append warnings to a list of the calling thread. The interface takes the list
// when the call returns and reports it like its own warnings (api/sion/handles/report). At most 16 are kept,
// to bound the memory of callers that never ask for them.
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
