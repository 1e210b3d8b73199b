// cli/partest/pattern: generates and checks the test data of a task. The bytes identify the task that wrote
// them and their offset. Both operations are too cheap to affect the measured times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sheaf::partest {

// Returns `x` after the mixing function of SplitMix64.
uint64_t mixed(uint64_t x);

// The expected bytes of the stream of one task. The stream repeats a random block that is specific to the
// task. The length of the block is no multiple of usual piece, chunk and block sizes, so that a piece at a
// wrong offset is detected.
class Pattern {
 public:
  // `largest`: maximum size of a piece in bytes. Memory: one period and `largest` bytes.
  Pattern(int task, int64_t largest);

  // Returns the bytes of the stream from `offset` on, at least one piece of maximum size. The pointer is
  // valid until the object is destroyed.
  std::byte* at(int64_t offset) { return memory_.data() + offset % period; }

  // Compares `data` with the stream at `offset`. Returns the offset in the stream of the first byte that
  // differs; nullopt if none does.
  std::optional<int64_t> difference(const std::byte* data, int64_t bytes, int64_t offset);

  static constexpr int64_t period = int64_t{64} * 1021;  // a prime number of cache lines

 private:
  std::vector<std::byte> memory_;
};

}  // namespace sheaf::partest
