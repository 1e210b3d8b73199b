// api/posix/mappings: what this process has mapped of captured files to share it (MAP_SHARED, for reading).
// Such a mapping is of a file in memory, the *image*, which follows what this process writes.
#pragma once

#include <atomic>
#include <cstdint>

#include "api/posix/descriptors.hpp"

namespace sheaf::posix {

inline std::atomic<int> mapping_count{0};

// Both inside. Part of a file has been written, cut or made room in: [begin, end), bytes; its length may
// have changed.
void follow_in_mappings(const ContainerSet* set, uint64_t stream, int64_t begin, int64_t end) noexcept;

inline void show_in_mappings(const ContainerSet* set, uint64_t stream, int64_t begin, int64_t end) noexcept {
  if (mapping_count.load(std::memory_order_relaxed) != 0) follow_in_mappings(set, stream, begin, end);
}

}  // namespace sheaf::posix
