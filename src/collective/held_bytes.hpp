// collective/held_bytes: bytes that a task holds until its collector gets them, and where in the file they
// belong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exchange/pieces/access_list.hpp"
#include "exchange/pieces/extent.hpp"

namespace sheaf {

using exchange::Extent;

class HeldBytes {
 public:
  // What continues the last extent becomes part of it.
  void append(std::span<const std::byte> data, int64_t offset);
  // Moves all of `other` behind what is here.
  void append(HeldBytes& other);
  // What follows begins an extent of its own.
  void begin_part() { continues_ = false; }
  void drop_last(size_t extents);

  bool empty() const { return extents_.empty(); }
  int64_t bytes() const { return std::ssize(data_); }
  int64_t weight() const {
    return bytes() + std::ssize(extents_) * int64_t{sizeof(Extent)};
  }  // bytes of memory
  std::span<const Extent> extents() const { return extents_; }

  exchange::Placed<const std::byte> placed() const { return {extents_, data_}; }  // looks into this object

  // Forgets what it holds, keeps its memory.
  void clear() {
    data_.clear();
    extents_.clear();
    continues_ = true;
  }

 private:
  std::vector<std::byte> data_;
  std::vector<Extent> extents_;
  bool continues_ = true;
};

}  // namespace sheaf
