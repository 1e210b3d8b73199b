// sharedfile/view: what part of a file a task sees, and what part of its memory takes part in a transfer.
//
// A view (MPI 3.1, section 13.3) is a displacement, an elementary type and a file type that is repeated from
// the displacement on. The data of all repetitions one behind the other is the view's stream; positions in it
// are counted in bytes here (a caller's offset in etypes times the size of an etype).
#pragma once

#include <cstddef>
#include <cstdint>

#include "layout/type_map.hpp"

namespace sheaf {

struct View {
  int64_t displacement = 0;  // bytes, >= 0
  int64_t etype_size = 1;    // bytes, > 0; the size of the file type is a multiple
  layout::TypeMap filetype = layout::TypeMap::bytes(1);

  // Where in the file byte `position` of the stream lies.
  int64_t offset_of(int64_t position) const { return displacement + filetype.offset_of(position); }
  // Bytes of the stream that lie below `offset` of the file.
  int64_t bytes_below(int64_t offset) const {
    return offset <= displacement ? 0 : filetype.bytes_below(offset - displacement);
  }
};

// `count` instances of a type at `address` (where displacement 0 is). The memory stays the caller's until the
// call returns. Byte is std::byte for reading and const std::byte for writing.
template <class Byte>
struct MemoryOf {
  Byte* address = nullptr;
  layout::TypeMap type = layout::TypeMap::bytes(1);
  int64_t count = 0;
};
using Source = MemoryOf<const std::byte>;
using Destination = MemoryOf<std::byte>;

}  // namespace sheaf
