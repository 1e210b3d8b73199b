// storage/scattered: files that take many pieces at once, each anywhere in the file, cheaper than one after
// the other and than whole windows read and written back. Files on I/O listeners are: a request costs a
// message, whatever is in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sheaf {

class ScatteredFile {
 public:
  // `memory` for the bytes from `offset` on.
  struct Piece {
    int64_t offset = 0;
    std::byte* memory = nullptr;  // only read by writes
    int64_t length = 0;
  };

  // All of the pieces, which do not overlap. Throws as File::write_at and read_at; what is then transferred
  // is open. What lies behind the end of the file reads as zero.
  virtual void write_scattered(std::span<const Piece> pieces) = 0;
  virtual void read_scattered(std::span<const Piece> pieces) = 0;

 protected:
  ~ScatteredFile() = default;
};

}  // namespace sheaf
