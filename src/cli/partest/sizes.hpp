// cli/partest/sizes: sizes as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace sheaf::partest {

// "10.0 MiB", "512 bytes".
std::string sized(int64_t bytes);

}  // namespace sheaf::partest
