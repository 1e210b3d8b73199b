// base/extent: a range of bytes in a file.
#pragma once

#include <cstdint>

namespace sheaf {

// Bytes [offset, offset + length) of a file.
struct Extent {
  int64_t offset = 0;
  int64_t length = 0;

  int64_t end() const { return offset + length; }
  // Returns the extent of bytes [begin, end).
  static Extent between(int64_t begin, int64_t end) { return {begin, end - begin}; }
};

}  // namespace sheaf
