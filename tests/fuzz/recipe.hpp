// recipe: takes numbers from a fuzzer's bytes, one after another. Small numbers take one byte, so that a
// change of one byte changes only one number. Numbers at which arithmetic may overflow take one byte, too.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/byte_order.hpp"

namespace sheaf::fuzz {

class Recipe {
 public:
  explicit Recipe(std::span<const std::byte> bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  std::span<const std::byte> rest() const { return rest_; }

  // Takes the next byte. Returns 0 after the end.
  uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<uint8_t>(rest_.front());
    rest_ = rest_.subspan(1);
    return value;
  }
  // Takes the next `count` bytes, or all remaining bytes if there are fewer.
  std::span<const std::byte> bytes(size_t count) {
    const auto taken = rest_.first(std::min(count, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  template <size_t N>
  std::array<std::byte, N> filled() {
    std::array<std::byte, N> all{};
    std::ranges::copy(bytes(N), all.begin());
    return all;
  }
  // Takes a number: 0 to 127, -1, a power of two or a neighbour of one, or any eight bytes.
  int64_t number() {
    const uint8_t code = byte();
    if (code < 128) return code;
    if (code < 252) {
      const auto power = uint64_t{1} << (7 + (code - 128) / 2 % 57);
      return static_cast<int64_t>(code % 2 == 0 ? power : power - 1);
    }
    if (code < 255) return code - 255;
    return load<int64_t>(filled<8>().data(), ByteOrder::little);
  }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace sheaf::fuzz
