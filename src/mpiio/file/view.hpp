// mpiio/file/view: the part of a file that a task sees, and the memory that takes part in a transfer.
//
// A view (MPI 3.1, section 13.3) is a displacement, an elementary type and a file type that is repeated from
// the displacement. The view's stream is the concatenated data of all repetitions. Stream positions are in
// bytes: a caller's offset in etypes times the size of an etype.
#pragma once

#include <cstddef>
#include <cstdint>

#include "layout/type_map.hpp"

namespace sheaf::mpiio {

struct View {
  int64_t displacement = 0;  // bytes, >= 0
  int64_t etype_size = 1;    // bytes, > 0; divides the size of the file type
  layout::TypeMap filetype = layout::TypeMap::bytes(1);

  // Returns the file offset of stream byte `position`.
  int64_t offset_of(int64_t position) const { return displacement + filetype.offset_of(position); }
  // Returns the bytes of the stream below file offset `offset`.
  int64_t bytes_below(int64_t offset) const {
    return offset <= displacement ? 0 : filetype.bytes_below(offset - displacement);
  }
};

// `count` instances of a type at `address`, the location of displacement 0. The caller owns the memory, which
// must stay valid until the call returns. Byte is std::byte for reading and const std::byte for writing.
template <class Byte>
struct MemoryOf {
  Byte* address = nullptr;
  layout::TypeMap type = layout::TypeMap::bytes(1);
  int64_t count = 0;
};
using Source = MemoryOf<const std::byte>;
using Destination = MemoryOf<std::byte>;

}  // namespace sheaf::mpiio
