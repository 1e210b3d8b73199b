// layout/run: a run, which consists of extents of equal length at equal distances.
#pragma once

#include <cstdint>

namespace sheaf::layout {

// `count` extents of `length` bytes. The first starts at `offset`, and each further one starts `stride` bytes
// after the start of the preceding one.
struct Run {
  int64_t offset = 0;
  int64_t length = 0;
  int64_t stride = 0;
  int64_t count = 1;

  int64_t end() const { return offset + (count - 1) * stride + length; }  // end of the last extent
};

}  // namespace sheaf::layout
