// base/os/available_memory: how much memory this host can give to programs.
#pragma once

#include <cstdint>

#include "base/export.hpp"

namespace sheaf {

// Returns the bytes that the host, and the control group of this process if that is limited, have available.
// Returns 1 GiB if the system does not tell.
SHEAF_EXPORT int64_t available_memory();

}  // namespace sheaf
