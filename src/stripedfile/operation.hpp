// stripedfile/operation: a write or read of a striped file under way. All listeners that it touches work at
// once; each has some of its messages at a time, so that it receives one while it writes another and does not
// wait for this task. A listener keeps the answer to each until the task takes it, so those of all operations
// of a task count together; beyond, an operation has one.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "stripedfile/link.hpp"
#include "stripedfile/request_stream.hpp"

namespace sheaf::sfio {

enum class Direction : uint8_t { write, read };

class SHEAF_EXPORT Operation {
 public:
  // Starts. The blocks' memory, the link and `subfiles` must live until the operation is done or destroyed;
  // destroying one that is not done leaves open what of it happens. All listeners work at once, the first
  // of which is another one for every task, so that tasks that begin together pair with them evenly.
  Operation(Link& link, Direction direction, const layout::Stripes& stripes,
            std::span<const SubfileHandle> subfiles, std::span<const Block> blocks);
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  ~Operation();

  // Moves on; whether all is done, errors included. Never throws.
  bool advance();

  // Waits for the end. Throws the first error after everything else has ended: other listeners have done
  // their parts.
  void finish();

  // Of a read, after the end: bytes that lay behind the ends of their subfiles, and were set to zero.
  int64_t missing() const { return missing_; }

 private:
  struct Queue {
    std::deque<std::unique_ptr<Call>> flights;
    bool empty = false;  // nothing more to send
  };

  bool advance(size_t queue, size_t most_flights);

  Link& link_;
  Direction direction_;
  std::vector<Copy> copies_;
  RequestStreams streams_;
  std::vector<Queue> queues_;   // as streams_.listeners()
  std::vector<size_t> visits_;  // queues in the order in which this task goes round them
  std::optional<Error> failed_;
  bool done_ = false;
  int64_t ended_calls_ = 0;
  int64_t missing_ = 0;
};

}  // namespace sheaf::sfio
