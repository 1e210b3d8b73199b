// multifile/saves/constants: how long parts of a save wait for each other.
#pragma once

#include <chrono>

#include "base/os/backoff.hpp"

namespace sheaf::saves::saves_constants {

// Pauses between two looks at the records of other hosts or tasks. A look costs an open of a small file, and
// comes late by at most an eighth of the time waited.
inline constexpr BackoffTerms look_backoff{
    .first = std::chrono::milliseconds(1), .max = std::chrono::milliseconds(200), .share = 8};
// Attempts to finish a commit that has begun; then the save counts as failed, and the next open finishes it.
inline constexpr int max_commits = 10;
inline constexpr std::chrono::milliseconds between_commits{200};
// The default bound of captured memory is this fraction of what the host has available.
inline constexpr int64_t share_of_memory = 4;

}  // namespace sheaf::saves::saves_constants
