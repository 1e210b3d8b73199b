// sfio/operation: a write or read of a striped file in flight. All listeners of the file work concurrently.
// The operation has several messages in flight to each listener, so that a listener can receive one message
// while it writes another and need not wait for this task.
//
// A listener keeps the answer to each message until the task fetches it. So the messages of all operations of
// a task to one listener share a limit (max_flights). At the limit, each operation still has one message in
// flight.
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
  // Starts the operation. The memory of the blocks, the link and `subfiles` must live until the operation is
  // done or destroyed. If it is destroyed before it is done, any part of it may have taken effect. Each task
  // starts with a different listener, so that tasks that start together spread evenly.
  Operation(Link& link, Direction direction, const layout::Stripes& stripes,
            std::span<const SubfileHandle> subfiles, std::span<const Block> blocks);
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  ~Operation();

  // Advances the operation. Returns true when it is done, with or without errors. Never throws.
  bool advance();

  // Waits until the operation is done. Throws the first error after all messages have ended; listeners
  // without an error have completed their parts.
  void finish();

  // Returns, after a read is done, the number of bytes beyond the ends of their subfiles. The read has set
  // these bytes to zero.
  int64_t missing() const { return missing_; }

 private:
  struct Queue {
    std::deque<std::unique_ptr<ListenerCall>> flights;
    bool empty = false;  // no more messages to send
  };

  bool advance(size_t number, size_t most);
  void take_answers(Queue& queue, int listener);
  void note(Queue& queue, const std::optional<Error>& failed);  // no effect without an error

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
