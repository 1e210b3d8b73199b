// exchange/pieces/access: a task's part of a transfer: which bytes of the file, and where in its memory they
// are.
//
// The data of a transfer is a stream of bytes [from, to); the file type says where each lies in the file, the
// memory type where in memory. Functions that copy touch the pieces of both in order, without a list of them.
// All local; the memory stays the caller's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/export.hpp"
#include "layout/type_map.hpp"

namespace sheaf::exchange {

struct ViewAccess {
  int64_t displacement = 0;  // of the first instance of the file type
  const layout::TypeMap* filetype = nullptr;
  int64_t from = 0;  // positions in the stream of the file type
  int64_t to = 0;
  // Where displacement 0 of the memory type is; only read when writing to the file
  std::byte* address = nullptr;
  const layout::TypeMap* memory = nullptr;  // whose byte 0 is that at position `from`
  // What the two above point to, where they were made for this access; else null
  std::shared_ptr<const void> types = nullptr;

  int64_t bytes() const { return to - from; }
  int64_t offset_of(int64_t position) const { return displacement + filetype->offset_of(position); }
  // Range of the file that the access lies in; bytes() > 0 and the file type ordered.
  int64_t low() const { return offset_of(from); }
  int64_t high() const { return offset_of(to - 1) + 1; }
  // Position in the stream, within [from, to], of the first byte that does not lie below `offset`; file type
  // ordered.
  int64_t position_at(int64_t offset) const {
    return offset <= displacement ? from : std::clamp(filetype->bytes_below(offset - displacement), from, to);
  }
  // Pieces of the file, neighbours merged where that is easy; about right.
  int64_t pieces() const;
  // The bytes at `position` in memory if all of the stream is contiguous there, else null.
  std::byte* contiguous(int64_t position) const;
};

// The type of memory without gaps.
const layout::TypeMap& contiguous_bytes();

// Copies bytes [from, to) of the stream from memory to where their places in the file are, or back, where
// byte `window_offset` of the file is at `window`.
void put_pieces(const ViewAccess& access, int64_t from, int64_t to, std::byte* window, int64_t window_offset);
void take_pieces(const ViewAccess& access, int64_t from, int64_t to, const std::byte* window,
                 int64_t window_offset);

// Copies bytes [from, to) of the stream from memory, which is not contiguous, to `out`, one behind the other,
// or back.
void pack(const ViewAccess& access, int64_t from, int64_t to, std::byte* out);
void unpack(const ViewAccess& access, int64_t from, int64_t to, const std::byte* in);

// The same between a stream and the pieces of any type map: `at` is where displacement 0 is.
SHEAF_EXPORT void scatter(const layout::TypeMap& type, int64_t from, int64_t to, const std::byte* stream,
                          std::byte* at);
SHEAF_EXPORT void gather(const layout::TypeMap& type, int64_t from, int64_t to, const std::byte* at,
                         std::byte* stream);

}  // namespace sheaf::exchange
