// multifile/block_size: the file-system block size that a new physical file is aligned to.
#pragma once

#include <cstdint>

#include "storage/store.hpp"

namespace sheaf {

inline constexpr int64_t largest_block_size = 32 << 20;
inline constexpr int32_t fallback_block_size = 2 << 20;

// `requested` > 0: used as it is. Otherwise what fstat says about `file` (st_blksize), or 2 MiB if that is not in
// 1..32 MiB (docs/format.md, section "Block size"). Bytes.
inline int32_t choose_block_size(File& file, int32_t requested) {
  if (requested > 0) return requested;
  const int64_t found = file.status().block_size;
  return found >= 1 && found <= largest_block_size ? static_cast<int32_t>(found) : fallback_block_size;
}

}  // namespace sheaf
