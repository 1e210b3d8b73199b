// base/os/random: unique random numbers from the operating system.
//
// Calls the kernel directly: creating a std::random_device queries the processor, which takes 100
// microseconds or more on a virtual machine, a large part of an open.
#pragma once

#include <cstdint>

#include "base/export.hpp"

namespace sheaf {

// Returns a random 64-bit number. Throws io if the kernel cannot provide one.
SHEAF_EXPORT uint64_t random_number();

}  // namespace sheaf
