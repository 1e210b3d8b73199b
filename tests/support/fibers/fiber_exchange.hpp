// support/fibers/fiber_exchange: checks of collective exchanges (Comm::exchanger). They reject what is
// erroneous in MPI_Alltoallv and MPI_Neighbor_alltoallw. Private to fiber_comm.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "comm/helpers.hpp"

namespace sheaf::fibers {

// Throws Error invalid_argument if a message has a peer outside `peers`, which ascend, or if the messages
// have more than `largest` bytes together. `bytes` is the memory of a message.
template <class Message, class Bytes>
void check_announced(const std::vector<Message>& messages, Bytes Message::*bytes, std::span<const int> peers,
                     int64_t largest) {
  int64_t sum = 0;
  for (const Message& message : messages) {
    sum += std::ssize(message.*bytes);
    if (!std::ranges::binary_search(peers, message.peer))
      throw Error(Code::invalid_argument, "a message to or from a task that is no peer");
  }
  if (sum > largest) throw Error(Code::invalid_argument, "an exchange of more bytes than announced");
}

// Throws Error mismatch unless every message was received, in room of exactly its length.
inline void check_exact(std::span<ExchangeLists* const> tasks) {
  int64_t sent = 0, received = 0;
  for (const ExchangeLists* task : tasks) {
    sent += std::ssize(task->outgoing);
    received += std::ssize(task->incoming);
    for (size_t i = 0; i < task->incoming.size(); ++i)
      if (task->received[i] != std::ssize(task->incoming[i].room))
        throw Error(Code::mismatch, "the room for a message of a collective exchange is too long");
  }
  if (sent != received) throw Error(Code::mismatch, "a message of a collective exchange is not received");
}

// Throws Error mismatch unless the matrix of peers, with `tasks` rows, is symmetric.
inline void check_symmetric(std::span<const int64_t> peers, size_t tasks) {
  for (size_t a = 0; a < tasks; ++a)
    for (size_t b = 0; b < a; ++b)
      if (peers[a * tasks + b] != peers[b * tasks + a])
        throw Error(Code::mismatch, "a task is no peer of its peer");
}

}  // namespace sheaf::fibers
