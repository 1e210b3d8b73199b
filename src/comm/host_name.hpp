// comm/host_name: what this machine calls itself.
#pragma once

#include <string>

#include "base/export.hpp"

namespace sheaf {

// The name of this host, as gethostname(2) says; "localhost" if it says nothing.
SHEAF_EXPORT std::string host_name();

}  // namespace sheaf
