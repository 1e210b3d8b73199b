// cli/partest/pattern: the data of a task: bytes that say by whom they were written and where they belong,
// made and checked without a cost that would show in the times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sheaf::partest {

// The mixing function of SplitMix64.
uint64_t mixed(uint64_t x);

// The stream of `task` repeats a random block of its own. The length of the block is no multiple of usual
// piece, chunk and block sizes, so that pieces in a wrong place show.
class Pattern {
 public:
  // For pieces of at most `largest` bytes, which is also the size of the memory behind it.
  Pattern(int task, int64_t largest);

  // The bytes of the stream from `offset` on: as many as a piece may have.
  std::byte* at(int64_t offset) { return memory_.data() + offset % period; }

  // The first of these bytes that is not as it should be: its offset in the stream.
  std::optional<int64_t> difference(const std::byte* data, int64_t bytes, int64_t offset);

  static constexpr int64_t period = int64_t{64} * 1021;  // whole cache lines, a prime number of them

 private:
  std::vector<std::byte> memory_;
};

}  // namespace sheaf::partest
