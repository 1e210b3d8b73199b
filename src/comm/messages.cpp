#include "comm/messages.hpp"

namespace sheaf {

int64_t bytes_of(std::span<const MemoryRun> runs) {
  int64_t sum = 0;
  for (const MemoryRun& run : runs) sum += run.bytes();
  return sum;
}

}  // namespace sheaf
