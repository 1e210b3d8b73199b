// base/random: numbers that nobody else has, from the operating system.
//
// A std::random_device asks the processor what it can do each time one is made, which takes 100 microseconds
// and more on a virtual machine, a large part of an open: so every thread keeps its own.
#pragma once

#include <cstdint>

#include "base/export.hpp"

namespace sheaf {

// Any of 2^64. Throws what std::random_device does where the machine has none.
SHEAF_EXPORT uint64_t random_number();

}  // namespace sheaf
