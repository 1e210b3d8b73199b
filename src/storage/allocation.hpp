// storage/allocation: the fallocate(2) operations that move no bytes.
#pragma once

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace sheaf {

// Effect of an allocation on an extent. `reservation` allocates space and leaves existing data unchanged.
// `zero` zeroes the bytes and allocates space. `hole` zeroes the bytes and deallocates their space.
enum class Allocation : uint8_t { reservation, zero, hole };

// Returns the operation of a fallocate mode; nullopt if the mode is unknown or moves bytes.
inline std::optional<Allocation> allocation_of(int mode) {
  switch (mode) {
    case 0:
    case FALLOC_FL_KEEP_SIZE:
      return Allocation::reservation;
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

// Returns the fallocate mode of an operation; `extend` allows the file to grow.
inline int mode_of(Allocation what, bool extend) {
  constexpr int modes[] = {0, FALLOC_FL_ZERO_RANGE, FALLOC_FL_PUNCH_HOLE};
  static_assert(static_cast<size_t>(Allocation::hole) + 1 == std::size(modes));
  return modes[static_cast<size_t>(what)] | (extend ? 0 : FALLOC_FL_KEEP_SIZE);
}

}  // namespace sheaf
