// base/os/host_name: the name of this host.
#pragma once

#include <string>
#include <string_view>

#include "base/export.hpp"

namespace sheaf {

// Returns the name of this host from gethostname(2), or "localhost" if that fails.
SHEAF_EXPORT std::string host_name();

// Returns true if `name` is the name of this host, with or without a domain. Returns false for addresses.
SHEAF_EXPORT bool is_this_host(std::string_view name);

}  // namespace sheaf
