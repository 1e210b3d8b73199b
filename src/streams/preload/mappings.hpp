// streams/preload/mappings: shared read-only mappings (MAP_SHARED) of captured files in this process. Each
// mapping is one of a memory file, the *image*. The library updates the image when this process writes to the
// captured file.
#pragma once

#include <atomic>
#include <cstdint>

#include "streams/preload/descriptors.hpp"

namespace sheaf::preload {

inline std::atomic<int> mapping_count{0};

// Update the images of a stream after its bytes [begin, end), and possibly its size, have changed by a write,
// truncation or allocation. show_in_mappings() does so only if the process has any mappings. Must be called
// within an Inside (streams/preload/inside.hpp).
void follow_in_mappings(const streams::ContainerSet* set, uint64_t stream, int64_t begin,
                        int64_t end) noexcept;

inline void show_in_mappings(const streams::ContainerSet* set, uint64_t stream, int64_t begin,
                             int64_t end) noexcept {
  if (mapping_count.load(std::memory_order_relaxed) != 0) follow_in_mappings(set, stream, begin, end);
}

}  // namespace sheaf::preload
