#include "cli/partest/pattern.hpp"

#include <algorithm>
#include <cstring>

namespace sheaf::partest {

uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

Pattern::Pattern(int task, int64_t largest) : memory_(static_cast<size_t>(period + largest)) {
  uint64_t state = mixed(static_cast<uint64_t>(task) + 1);
  for (int64_t i = 0; i < period; i += 8) {
    const uint64_t word = mixed(state += 0x9E3779B97F4A7C15u);
    std::memcpy(memory_.data() + i, &word, 8);
  }
  for (size_t done = period; done < memory_.size(); done += period)
    std::memcpy(&memory_[done], memory_.data(), std::min<size_t>(period, memory_.size() - done));
}

std::optional<int64_t> Pattern::difference(const std::byte* data, int64_t bytes, int64_t offset) {
  const std::byte* const wanted = at(offset);
  if (std::memcmp(data, wanted, static_cast<size_t>(bytes)) == 0) return std::nullopt;
  return offset + (std::mismatch(data, data + bytes, wanted).first - data);
}

}  // namespace sheaf::partest
