// Compares shared files with a model. Views are random, but no two tasks own the same byte; memory and calls
// are random, too.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <random>
#include <vector>

#include "mpiio/file/shared_file.hpp"

namespace sheaf::model {

class RandomSource {
 public:
  explicit RandomSource(uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15 + 1) {}
  int64_t in(int64_t from, int64_t to) { return std::uniform_int_distribution<int64_t>(from, to)(engine_); }
  bool once_in(int64_t n) { return in(1, n) == 1; }
  std::byte byte() { return static_cast<std::byte>(engine_()); }

 private:
  std::mt19937_64 engine_;
};

// Returns the owner of each of the first `size` etypes of a repeated tile; -1: no owner.
inline std::vector<int> random_owners(RandomSource& random, int tasks) {
  std::vector<int> owners;
  const int64_t shape = random.in(0, 3);
  const int64_t holes = random.in(0, 1) * random.in(1, 4);
  const int64_t parts = random.in(1, 60);
  const int64_t length = random.in(1, 40);
  for (int64_t part = 0; part < parts; ++part) {
    const int next = static_cast<int>(shape == 0 ? part % tasks : random.in(0, tasks - 1));
    const bool hole = holes > 0 && random.once_in(holes + 1);
    const int64_t n = shape == 1 ? random.in(1, 80) : shape == 2 ? 1 : length;
    owners.insert(owners.end(), static_cast<size_t>(n), hole ? -1 : next);
  }
  return owners;
}

// Returns the view of one task. A task that owns no etype gets a view of the whole tile.
inline mpiio::View view_of(const std::vector<int>& owners, int task, int64_t etype, int64_t displacement) {
  std::vector<int64_t> lengths, places;
  for (size_t i = 0; i < owners.size(); ++i) {
    if (owners[i] != task) continue;
    if (!places.empty() && places.back() + lengths.back() * etype == static_cast<int64_t>(i) * etype) {
      ++lengths.back();
    } else {
      places.push_back(static_cast<int64_t>(i) * etype);
      lengths.push_back(1);
    }
  }
  mpiio::View view;
  view.displacement = displacement;
  view.etype_size = etype;
  const auto tile = layout::TypeMap::bytes(etype);
  view.filetype =
      places.empty() ? layout::TypeMap::contiguous(std::ssize(owners), tile)
                     : layout::TypeMap::indexed(lengths, places, tile).resized(0, std::ssize(owners) * etype);
  return view;
}

// Memory for `bytes` bytes of data, contiguous or with gaps.
class ModelBuffer {
 public:
  ModelBuffer(RandomSource& random, int64_t bytes) : bytes_(bytes) {
    const int64_t kind = random.in(0, 3);
    if (bytes == 0 || kind == 0 || bytes % 2 != 0) {
      count_ = bytes;
    } else if (kind == 1) {
      type_ = layout::TypeMap::vector(bytes / 2, 2, random.in(2, 9), layout::TypeMap::bytes(1));
      count_ = 1;
    } else if (kind == 2) {
      const std::vector<int64_t> places{3, 0};
      type_ =
          layout::TypeMap::indexed_block(1, places, layout::TypeMap::bytes(1)).resized(0, random.in(4, 7));
      count_ = bytes / 2;
    } else {
      type_ = layout::TypeMap::bytes(2);
      count_ = bytes / 2;
    }
    const int64_t room = count_ == 0 ? 1 : type_.true_upper_bound() + (count_ - 1) * type_.extent() + 8;
    memory_.resize(static_cast<size_t>(room));
    for (std::byte& b : memory_) b = random.byte();
  }

  std::byte& at(int64_t position) { return memory_[static_cast<size_t>(type_.offset_of(position))]; }
  mpiio::Source source() { return {memory_.data(), type_, count_}; }
  mpiio::Destination destination() { return {memory_.data(), type_, count_}; }
  int64_t bytes() const { return bytes_; }
  std::vector<std::byte>& all() { return memory_; }

 private:
  int64_t bytes_;
  layout::TypeMap type_ = layout::TypeMap::bytes(1);
  int64_t count_ = 0;
  std::vector<std::byte> memory_;
};

// Expected contents of the file; shared by the tasks.
struct ExpectedContents {
  std::vector<std::byte> bytes;

  void write(const mpiio::View& view, int64_t position, ModelBuffer& buffer) {
    const std::lock_guard lock(mutex_);
    for (int64_t i = 0; i < buffer.bytes(); ++i) {
      const auto offset = static_cast<size_t>(view.offset_of(position + i));
      if (offset >= bytes.size()) bytes.resize(offset + 1);
      bytes[offset] = buffer.at(i);
    }
  }

  // Requires that a read got the expected bytes and left the rest of the memory unchanged.
  void check_read(const mpiio::View& view, int64_t position, ModelBuffer& got, ModelBuffer before,
                  int64_t count) const {
    int64_t wanted = 0;
    for (; wanted < got.bytes(); ++wanted) {
      const auto offset = static_cast<size_t>(view.offset_of(position + wanted));
      if (offset >= bytes.size()) break;
      before.at(wanted) = bytes[offset];
    }
    ASSERT_EQ(count, wanted);
    ASSERT_TRUE(got.all() == before.all());
  }

 private:
  std::mutex mutex_;
};

}  // namespace sheaf::model
