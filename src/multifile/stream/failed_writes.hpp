// multifile/stream/failed_writes: remembers the write requests of a program that have failed and not been
// repeated.
//
// A write that fails accepts no bytes, and the program may repeat it. If a program ignores the failure, the
// multifile must not be marked as complete. Every failed request is therefore remembered by its length and
// checksum, until the task's stream continues with the same bytes, in one request or several. Local. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace sheaf::multifile {

class FailedWrites {
 public:
  // The bytes of one call: `head` followed by `body`.
  struct WriteRequest {
    int64_t task = 0;
    std::span<const std::byte> head;
    std::span<const std::byte> body;

    int64_t bytes() const { return std::ssize(head) + std::ssize(body); }
  };

  bool any() const { return overflowed_ || failed_ != nullptr; }
  // Remembers a request of which no byte was accepted. Ignores empty requests and repetitions of a remembered
  // request. `what`: one sentence for the user, without a full stop.
  void fail(const WriteRequest& request, const Error& why, const std::string& what) noexcept;
  // Records a failed request without allocating memory. No later request can complete it, so the close fails.
  void fail_unremembered(const WriteRequest& request) noexcept { overflowed_ |= request.bytes() > 0; }
  // Removes the requests that are completed by these accepted bytes.
  void accept(const WriteRequest& request);
  // Throws the error of the oldest remembered request, if any.
  void require_none() const;

 private:
  // A position in the task's stream at which a retry may place the bytes of a failed request.
  struct RetryPosition {
    int64_t ahead = 0;  // bytes of the stream before the position that are not accepted yet
    int64_t done = 0;   // bytes accepted from the position on
    uint32_t sum = 0;   // checksum of the accepted bytes
  };
  struct Failed {
    int64_t task;
    int64_t bytes;
    uint32_t sum;
    // The positions at which a retry may begin. If the request repeats an earlier one in parts, it is the end
    // of the stream. If the request follows the earlier ones, it is the end of the stream after these are
    // repeated.
    std::vector<RetryPosition> candidates;
    Error why;
  };
  static bool continues(Failed& failed, const WriteRequest& request);

  std::unique_ptr<std::vector<Failed>> failed_;  // in the order of the calls; null: none
  bool overflowed_ = false;                      // too many to remember; can no longer be completed
};

}  // namespace sheaf::multifile
