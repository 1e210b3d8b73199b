// layout/run: equally long pieces at equal distances.
#pragma once

#include <cstdint>

namespace sheaf::layout {

// `count` pieces of `length` bytes, the first at `offset`; `stride` is the distance between the starts of two
// pieces.
struct Run {
  int64_t offset = 0;
  int64_t length = 0;
  int64_t stride = 0;
  int64_t count = 1;
};

}  // namespace sheaf::layout
