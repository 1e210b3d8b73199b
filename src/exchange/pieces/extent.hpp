// exchange/pieces/extent: an extent of a file.
#pragma once

#include <cstdint>

namespace sheaf::exchange {

// Bytes [offset, offset + length) of a file.
struct Extent {
  int64_t offset = 0;
  int64_t length = 0;

  int64_t end() const { return offset + length; }
};

}  // namespace sheaf::exchange
