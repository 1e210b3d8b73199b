// stream/failed_writes: bytes that a program asked to write and that no call has accepted yet.
//
// A write that fails accepts nothing: the program may repeat it. A program that ignores the failure must not
// get a multifile that looks complete. So every failed request is remembered, by its length and checksum,
// until the task's stream continues with the same bytes, written by one request or by several. Local; one
// thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace sheaf {

class FailedWrites {
 public:
  // The bytes of one call, `head` and `body` concatenated.
  struct Request {
    int64_t task = 0;
    std::span<const std::byte> head;
    std::span<const std::byte> body;

    int64_t bytes() const { return std::ssize(head) + std::ssize(body); }
  };

  bool any() const { return overflowed_ || failed_ != nullptr; }
  // Remembers a request of which nothing was accepted. A request without bytes, or one that repeats a
  // remembered request, adds nothing. `what`: one sentence for the user, without a final stop.
  void fail(const Request& request, const Error& why, const std::string& what) noexcept;
  // The same without memory for it: nothing completes this request.
  void fail_unremembered(const Request& request) noexcept { overflowed_ |= request.bytes() > 0; }
  // Removes the requests that these accepted bytes complete.
  void accept(const Request& request);
  // Throws the failure of the oldest remembered request, if there is one.
  void require_none() const;

 private:
  // A place in the task's stream where a retry may put the bytes of a failed request.
  struct Candidate {
    int64_t ahead = 0;  // bytes of the stream before the place that no call has accepted yet
    int64_t done = 0;   // bytes accepted from the place on
    uint32_t sum = 0;   // checksum of these
  };
  struct Failed {
    int64_t task;
    int64_t bytes;
    uint32_t sum;
    // Where the stream ended, and where it would have ended if all earlier requests had been accepted: the
    // request repeats an earlier one in parts, or follows the earlier ones.
    std::vector<Candidate> candidates;
    Error why;

    bool is_repeated_by(const Request& request, uint32_t request_sum) const;
  };
  static bool continues(Failed& failed, const Request& request);

  std::unique_ptr<std::vector<Failed>> failed_;  // in the order of the calls; null: none
  bool overflowed_ = false;                      // there were too many to remember: nothing completes them
};

}  // namespace sheaf
