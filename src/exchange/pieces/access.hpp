// exchange/pieces/access: a task's part of a transfer: its bytes of the file and their addresses in memory.
//
// The data of a transfer is a stream of bytes [from, to). The file type gives the file offset of each byte,
// the memory type its address. Copy functions visit the extents of both types in order and build no list. All
// functions are local. The caller owns the memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/assert.hpp"
#include "base/export.hpp"
#include "layout/type_map.hpp"

namespace sheaf::exchange {

struct FileAccess {
  int64_t displacement = 0;  // file offset of the first instance of the file type
  const layout::TypeMap* filetype = nullptr;
  int64_t from = 0;  // positions in the stream of the file type
  int64_t to = 0;
  // Address of displacement 0 of the memory type. A write to the file does not modify the memory.
  std::byte* address = nullptr;
  const layout::TypeMap* memory = nullptr;  // byte 0 of this type is the byte at position `from`
  // Owner of the two types if they were made for this access; else null.
  std::shared_ptr<const void> types = nullptr;

  int64_t bytes() const { return to - from; }
  int64_t offset_of(int64_t position) const { return displacement + filetype->offset_of(position); }
  // Return the first file offset of the access and the offset past its end. Requires bytes() > 0 and an
  // ordered file type.
  int64_t low() const {
    SHEAF_DEBUG_ASSERT(bytes() > 0 && filetype->is_ordered(true));
    return offset_of(from);
  }
  int64_t high() const {
    SHEAF_DEBUG_ASSERT(bytes() > 0 && filetype->is_ordered(true));
    return offset_of(to - 1) + 1;
  }
  // Returns the stream position, within [from, to], of the first byte at or above `offset`. Requires an
  // ordered file type.
  int64_t position_at(int64_t offset) const {
    SHEAF_DEBUG_ASSERT(filetype->is_ordered(true));
    return offset <= displacement ? from : std::clamp(filetype->bytes_below(offset - displacement), from, to);
  }
  // Returns the approximate number of extents; adjacent extents are merged where that is cheap.
  int64_t pieces() const;
  // Returns true if every extent consists of whole units: aligned blocks of `unit` bytes. Requires bytes() >
  // 0.
  bool has_whole_units(int64_t unit) const;
  // Returns the address of stream position `position` if the whole stream is contiguous in memory, else null.
  std::byte* contiguous(int64_t position) const;
};

// Returns the memory type of contiguous memory, which has no gaps.
const layout::TypeMap& contiguous_bytes();

// pack_window() copies stream bytes [from, to) from memory to their file positions in `window`, a buffer for
// the bytes of the file from offset `window_offset`. take_pieces() copies them back to memory.
void pack_window(const FileAccess& access, int64_t from, int64_t to, std::byte* window,
                 int64_t window_offset);
void take_pieces(const FileAccess& access, int64_t from, int64_t to, const std::byte* window,
                 int64_t window_offset);

// pack() copies stream bytes [from, to) from non-contiguous memory into contiguous `out`. unpack() copies
// them from `in` back to memory.
void pack(const FileAccess& access, int64_t from, int64_t to, std::byte* out);
void unpack(const FileAccess& access, int64_t from, int64_t to, const std::byte* in);

// scatter() copies a contiguous stream to the extents of a type map, and gather() copies them back. `at` is
// the address of displacement 0.
SHEAF_EXPORT void scatter(const layout::TypeMap& type, int64_t from, int64_t to, const std::byte* stream,
                          std::byte* at);
SHEAF_EXPORT void gather(const layout::TypeMap& type, int64_t from, int64_t to, const std::byte* at,
                         std::byte* stream);

}  // namespace sheaf::exchange
