#include "cli/partest/clock.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>

namespace sheaf::partest {

SharedClock::SharedClock(Comm& comm) {
  if (comm.node_count() == 1) return;
  std::array<int64_t, 21> mine;
  for (int64_t& released : mine) {
    comm.barrier();
    released = now();
  }
  std::array<int64_t, mine.size()> first = mine;
  comm.broadcast(std::as_writable_bytes(std::span(first)), 0);
  for (size_t i = 0; i < mine.size(); ++i) first[i] -= mine[i];
  std::nth_element(first.begin(), first.begin() + first.size() / 2, first.end());
  offset_ = first[first.size() / 2];
}

int64_t SharedClock::now() const {
  const auto t = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(t).count() + offset_;
}

}  // namespace sheaf::partest
