// support/fibers/fiber_traffic: counts the calls of simulated tasks as if they were trees of messages.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "comm/comm.hpp"

namespace sheaf {

// Traffic of a task on a Comm and on those split from it.
struct Traffic {
  int64_t collectives = 0;  // collective calls
  int64_t steps = 0;        // rounds of messages on the critical path: ceil(log2(size)) per tree collective
  int64_t bytes = 0;        // bytes that this task contributed to collectives
};

// Returns the rounds of messages of a binary tree over `size` tasks: ceil(log2(size)); 0 for one task.
inline int tree_steps(int size) { return size <= 1 ? 0 : std::bit_width(static_cast<unsigned>(size) - 1); }

// Adds one tree collective over `size` tasks to which this task contributed `bytes`.
inline void count_collective(Traffic& traffic, int size, int64_t bytes) {
  traffic.collectives += 1;
  traffic.steps += tree_steps(size);
  traffic.bytes += bytes;
}

// Bytes of (color, key), a task's contribution to a split.
inline constexpr int64_t split_bytes = 2 * sizeof(int32_t);

// Returns the total bytes of the messages in `outgoing`.
inline int64_t bytes_of(std::span<const Outgoing> outgoing) {
  int64_t sum = 0;
  for (const Outgoing& message : outgoing) sum += std::ssize(message.bytes);
  return sum;
}

}  // namespace sheaf
