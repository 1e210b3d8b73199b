// streams/preload/mappings: shared read-only mappings (MAP_SHARED) of captured files in this process. Each
// maps a file in memory, the *image*, which is updated when this process writes.
#pragma once

#include <atomic>
#include <cstdint>

#include "streams/preload/descriptors.hpp"

namespace sheaf::posix {

inline std::atomic<int> mapping_count{0};

// Update the images after the extent [begin, end) in bytes of a file was written, truncated or allocated; the
// file size may have changed. Must be called within an Inside (streams/preload/inside.hpp).
void follow_in_mappings(const ContainerSet* set, uint64_t stream, int64_t begin, int64_t end) noexcept;

inline void show_in_mappings(const ContainerSet* set, uint64_t stream, int64_t begin, int64_t end) noexcept {
  if (mapping_count.load(std::memory_order_relaxed) != 0) follow_in_mappings(set, stream, begin, end);
}

}  // namespace sheaf::posix
