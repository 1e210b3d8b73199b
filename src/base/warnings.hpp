// base/warnings: what a call has to tell its caller although it goes on.
//
// Rooms below the interface add to a list of the thread; the interface takes it when the call returns, and
// says it as its other warnings (api/sion/handles/report). Few are kept, so that callers who never ask hold
// little.
#pragma once

#include <string>
#include <vector>

#include "base/export.hpp"

namespace sheaf {

// One sentence without a final stop, as Error has it. Never throws; where there is no room, it is forgotten.
void add_warning(std::string text) noexcept;

bool any_warnings() noexcept;
SHEAF_EXPORT std::vector<std::string> take_warnings();

}  // namespace sheaf
