// multifile/buddy/constants: limits of buddy copies.
#pragma once

#include <climits>
#include <cstdint>

namespace sheaf::multifile::buddy {

// Maximum length of a message, in bytes. Sender and receiver each hold two messages in memory. The length
// must fit into an int, as MPI counts bytes.
inline constexpr int64_t message_bytes = 1 << 20;
static_assert(message_bytes <= INT_MAX);

// Maximum number of files of a set that are tried in order to identify the current set. If none of them can
// be read, a copy is used without this check.
inline constexpr int32_t others_tried = 64;

}  // namespace sheaf::multifile::buddy
