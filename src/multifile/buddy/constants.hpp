// multifile/buddy/constants: limits of buddy copies.
#pragma once

#include <climits>
#include <cstdint>

namespace sheaf::buddy {

// Bytes of a file per message. Two messages are in memory on each side. The length of a message in an
// exchange is an int.
inline constexpr int64_t message_bytes = 1 << 20;
static_assert(message_bytes <= INT_MAX);

// Number of other files of a set that are tried in order to identify the current set.
inline constexpr int32_t others_tried = 64;

}  // namespace sheaf::buddy
