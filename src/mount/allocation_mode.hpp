// mount/allocation_mode: modes of fallocate(2) as what ContainerStream::allocate() is asked for.
#pragma once

#include <linux/falloc.h>

#include <optional>

#include "container/container_set.hpp"

namespace sheaf {

// nullopt: a mode that there is not, or that moves bytes.
inline std::optional<Allocation> allocation_of(int mode) {
  switch (mode) {
    case 0:
    case FALLOC_FL_KEEP_SIZE:
      return Allocation::keep;
    case FALLOC_FL_ZERO_RANGE:
    case FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE:
      return Allocation::zero;
    case FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE:
      return Allocation::hole;
    default:
      return std::nullopt;
  }
}

inline bool extends(int mode) { return (mode & FALLOC_FL_KEEP_SIZE) == 0; }

// The other way.
inline int mode_of(Allocation what, bool extend) {
  const int size = extend ? 0 : FALLOC_FL_KEEP_SIZE;
  switch (what) {
    case Allocation::zero:
      return size | FALLOC_FL_ZERO_RANGE;
    case Allocation::hole:
      return size | FALLOC_FL_PUNCH_HOLE;
    default:
      return size;
  }
}

}  // namespace sheaf
