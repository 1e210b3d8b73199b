// layout/placement: assigns tasks to physical files (docs/format.md, section "Names").
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/assert.hpp"

namespace sheaf::layout {

struct Placement {
  int32_t file = 0;        // number of the physical file
  int32_t local_rank = 0;  // number of the task within that file
};

// Places floor(ntasks / nfiles) consecutive tasks in each file, and the remaining tasks in the last file.
// Requires 1 <= nfiles <= ntasks.
inline Placement place_blockwise(int32_t rank, int32_t ntasks, int32_t nfiles) {
  SHEAF_ASSERT(nfiles >= 1 && nfiles <= ntasks && rank >= 0 && rank < ntasks);
  const int32_t per_file = ntasks / nfiles;
  const int32_t file = std::min(rank / per_file, nfiles - 1);
  return {file, rank - per_file * file};
}

}  // namespace sheaf::layout
