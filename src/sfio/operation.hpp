// sfio/operation: a write or read of a striped file in flight. All its listeners work concurrently.
// Each has several messages at a time, so that it receives one while it writes another and need not wait for
// this task.
//
// A listener keeps the answer to each message until the task fetches it. So the messages of all operations of
// a task share one limit; beyond it, each operation has one message per listener.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "sfio/link.hpp"
#include "sfio/request_stream.hpp"

namespace sheaf::sfio {

enum class Direction : uint8_t { write, read };

class SHEAF_EXPORT Operation {
 public:
  // Starts the operation. The blocks' memory, the link and `subfiles` must outlive it, or live until it is
  // done. If it is destroyed earlier, the extent to which it takes effect is undefined. All listeners work
  // concurrently. Each task starts with another listener, so that tasks that start together spread evenly.
  Operation(Link& link, Direction direction, const layout::Stripes& stripes,
            std::span<const SubfileHandle> subfiles, std::span<const Block> blocks);
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  ~Operation();

  // Advances the operation. Returns true when it is done, with or without errors. Never throws.
  bool advance();

  // Waits for the end. Throws the first error after all messages have ended; other listeners have completed
  // their parts.
  void finish();

  // After the end of a read: the number of bytes beyond the ends of their subfiles, which were set to zero.
  int64_t missing() const { return missing_; }

 private:
  struct Queue {
    std::deque<std::unique_ptr<Call>> flights;
    bool empty = false;  // no more messages to send
  };

  bool advance(size_t queue, size_t max_flights);

  Link& link_;
  Direction direction_;
  std::vector<Copy> copies_;
  RequestStreams streams_;
  std::vector<Queue> queues_;   // in the order of streams_.listeners()
  std::vector<size_t> visits_;  // order in which this task visits the queues
  std::optional<Error> failed_;
  bool done_ = false;
  int64_t ended_calls_ = 0;
  int64_t missing_ = 0;
};

}  // namespace sheaf::sfio
