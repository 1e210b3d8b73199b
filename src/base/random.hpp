// base/random: numbers that nobody else has, from the operating system.
//
// Not std::random_device: that asks the processor what it can do each time one is made, which takes 100 microseconds and more
// on a virtual machine, a large part of an open.
#pragma once

#include <cstdint>

#include "base/export.hpp"

namespace sheaf {

// Any of 2^64, by getentropy(3). Throws io if the operating system has none.
SHEAF_EXPORT uint64_t random_number();

}  // namespace sheaf
