// storage/allocation: what fallocate(2) can be asked for that moves no bytes.
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace sheaf {

// What becomes of the bytes of a range that gets room: they stay; all are zeros; all are zeros, and what
// nobody has written gets none.
enum class Allocation : uint8_t { keep, zero, hole };

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
  constexpr int modes[] = {0, FALLOC_FL_ZERO_RANGE, FALLOC_FL_PUNCH_HOLE};
  static_assert(static_cast<size_t>(Allocation::hole) + 1 == std::size(modes));
  return modes[static_cast<size_t>(what)] | (extend ? 0 : FALLOC_FL_KEEP_SIZE);
}

}  // namespace sheaf
