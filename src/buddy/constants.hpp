// buddy/constants: the numbers of this room.
#pragma once

#include <climits>
#include <cstdint>

namespace sheaf::buddy {

// Bytes of a file that travel in one message: two of them are in memory on each side, and a message of an
// exchange has a length of an int.
inline constexpr int64_t message_bytes = 1 << 20;
static_assert(message_bytes <= INT_MAX);

// Names of other files of a set that are tried to learn of which open the set is.
inline constexpr int32_t others_tried = 64;

}  // namespace sheaf::buddy
