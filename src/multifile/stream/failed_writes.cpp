#include "multifile/stream/failed_writes.hpp"

#include <algorithm>

#include "base/crc32c.hpp"
#include "multifile/stream/constants.hpp"

namespace sheaf::multifile {

namespace {

// Continues `sum` with `bytes` bytes of the request, starting at `begin`.
uint32_t continue_sum(uint32_t sum, const FailedWrites::WriteRequest& request, int64_t begin, int64_t bytes) {
  const auto in_head = std::min(begin, std::ssize(request.head));
  const auto from_head = std::min(bytes, std::ssize(request.head) - in_head);
  const auto head = request.head.subspan(static_cast<size_t>(in_head), static_cast<size_t>(from_head));
  const auto body =
      request.body.subspan(static_cast<size_t>(begin - in_head), static_cast<size_t>(bytes - from_head));
  return crc32c(crc32c(sum, head), body);
}

}  // namespace

void FailedWrites::fail(const WriteRequest& request, const Error& why, const std::string& what) noexcept {
  if (request.bytes() == 0 || overflowed_) return;
  try {
    const uint32_t sum = continue_sum(0, request, 0, request.bytes());
    if (!failed_) failed_ = std::make_unique<std::vector<Failed>>();
    // A repetition counts only for a request of which nothing was repeated yet. A queue of failed requests
    // may fail again at any request.
    const auto is_repeated = [&](const Failed& f) {
      return f.task == request.task && f.bytes == request.bytes() && f.sum == sum &&
             std::ranges::find(f.candidates, 0, &RetryPosition::done) != f.candidates.end();
    };
    if (std::ranges::any_of(*failed_, is_repeated)) return;
    overflowed_ = std::ssize(*failed_) == stream_constants::max_failed_writes;
    if (overflowed_) return;
    int64_t expected = 0;
    for (const Failed& earlier : *failed_)
      for (const RetryPosition& c : earlier.candidates)
        if (earlier.task == request.task) expected = std::max(expected, c.ahead + earlier.bytes - c.done);
    std::vector<RetryPosition> candidates(1);
    if (expected > 0) candidates.push_back({.ahead = expected});
    failed_->push_back({request.task, request.bytes(), sum, std::move(candidates),
                        Error(why.code(), what + ": " + why.what(), why.errno_value(), why.task())});
  } catch (...) {  // no memory
    overflowed_ = true;
  }
}

void FailedWrites::accept(const WriteRequest& request) {
  if (!failed_) return;
  std::erase_if(*failed_,
                [&](Failed& failed) { return failed.task == request.task && continues(failed, request); });
  if (failed_->empty()) failed_.reset();
}

// Returns true if the accepted bytes of `request` complete the failed one. Drops candidates that received
// other bytes.
bool FailedWrites::continues(Failed& failed, const WriteRequest& request) {
  bool completed = false;
  std::erase_if(failed.candidates, [&](RetryPosition& c) {
    const int64_t skipped = std::min(c.ahead, request.bytes());
    const int64_t taken = std::min(request.bytes() - skipped, failed.bytes - c.done);
    c.ahead -= skipped;
    c.sum = continue_sum(c.sum, request, skipped, taken);
    c.done += taken;
    if (c.done < failed.bytes) return false;
    completed |= c.sum == failed.sum;
    return true;
  });
  return completed;
}

void FailedWrites::require_none() const {
  if (failed_ && !failed_->empty()) throw failed_->front().why;
  if (overflowed_) throw Error(Code::io, "writes have failed and were not repeated");
}

}  // namespace sheaf::multifile
