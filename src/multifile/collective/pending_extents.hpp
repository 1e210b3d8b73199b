// multifile/collective/pending_extents: bytes that a task holds for its collector, with their offsets in the
// file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/assert.hpp"
#include "base/extent.hpp"
#include "exchange/pieces/access_list.hpp"

namespace sheaf::multifile {

class PendingExtents {
 public:
  // Appends `data`, which belongs at `offset` of the file. Extends the last extent if it ends at `offset`,
  // unless begin_part() was called after the last append.
  void append(std::span<const std::byte> data, int64_t offset);
  // Moves all contents of `other` to the end of this object.
  void append(PendingExtents& other) {
    SHEAF_ASSERT(&other != this);
    extents_.reserve(extents_.size() + other.extents_.size());
    data_.insert(data_.end(), other.data_.begin(), other.data_.end());
    extents_.insert(extents_.end(), other.extents_.begin(), other.extents_.end());
    other.clear();
  }
  // Lets the next append begin a new extent.
  void begin_part() { continues_ = false; }
  void drop_last(size_t extents) {
    for (; extents > 0 && !extents_.empty(); --extents) {
      data_.resize(data_.size() - static_cast<size_t>(extents_.back().length));
      extents_.pop_back();
    }
  }

  bool empty() const { return extents_.empty(); }
  int64_t bytes() const { return std::ssize(data_); }
  // Returns the memory that bytes and extents take, in bytes.
  int64_t weight() const { return bytes() + std::ssize(extents_) * int64_t{sizeof(Extent)}; }
  std::span<const Extent> extents() const { return extents_; }

  exchange::Placed<const std::byte> placed() const { return {extents_, data_}; }  // refers to this object

  // Drops the contents and keeps the memory.
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

}  // namespace sheaf::multifile
