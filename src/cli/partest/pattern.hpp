// cli/partest/pattern: test data of a task. The bytes identify the writing task and the offset. Generating
// and checking them is cheap enough not to affect the measured times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sheaf::partest {

// Applies the mixing function of SplitMix64.
uint64_t mixed(uint64_t x);

// The stream of `task` repeats a random block that is specific to the task. The length of the block is no
// multiple of common piece, chunk and block sizes, so that misplaced pieces are detected.
class Pattern {
 public:
  // `largest`: maximum size of a piece in bytes. Memory: one period and `largest` bytes.
  Pattern(int task, int64_t largest);

  // Returns the bytes of the stream at `offset`, valid for one piece of maximum size.
  std::byte* at(int64_t offset) { return memory_.data() + offset % period; }

  // Returns the offset in the stream of the first byte of `data` that is wrong.
  std::optional<int64_t> difference(const std::byte* data, int64_t bytes, int64_t offset);

  static constexpr int64_t period = int64_t{64} * 1021;  // a prime number of cache lines

 private:
  std::vector<std::byte> memory_;
};

}  // namespace sheaf::partest
