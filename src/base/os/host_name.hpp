// base/os/host_name: the name of this host.
#pragma once

#include <string>

#include "base/export.hpp"

namespace sheaf {

// Returns the name of this host from gethostname(2), or "localhost" if that fails.
SHEAF_EXPORT std::string host_name();

}  // namespace sheaf
