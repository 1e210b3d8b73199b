// base/random: numbers that nobody else has, from the operating system.
//
// Asks the kernel directly: a std::random_device queries the processor each time one is made, which takes 100
// microseconds and more on a virtual machine, a large part of an open.
#pragma once

#include <cstdint>

#include "base/export.hpp"

namespace sheaf {

// Any of 2^64. Throws io where the kernel has none.
SHEAF_EXPORT uint64_t random_number();

}  // namespace sheaf
