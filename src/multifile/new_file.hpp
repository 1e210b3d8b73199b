// multifile/new_file: how a new physical file begins: empty, and aligned to blocks of the file system.
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

// Drops what the file held before. A file that is empty anyway is left alone: ext4 takes a truncation to 0 for the
// replacement of a file and writes the new contents to the disk when it is closed (docs/tuning.md).
inline void empty(File& file) {
  if (file.status().size > 0) file.resize(0);
}

}  // namespace sheaf
