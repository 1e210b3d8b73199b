#include "cli/mount/stream_prefetcher.hpp"

#include <algorithm>
#include <ctime>
#include <exception>
#include <utility>

#include "base/checked.hpp"

namespace sheaf::cli {

namespace {

// Maximum size in bytes of a stream that is stored. The kernel itself reads ahead within larger ones.
constexpr int64_t max_stored = 128 << 10;
// Bytes that a sequence stores at once: at first, and at most. The number doubles at each store, because the
// program may end the sequence at any stream.
constexpr int64_t first_window = 64 << 10, max_window = 8 << 20;
static_assert(max_stored <= max_window);
constexpr int64_t page = 4096;   // bytes of the page cache; a stream occupies whole pages
constexpr int max_failures = 6;  // exponent of the longest pause, in reads

}  // namespace

// Calls body() unless another thread stores or stop() was called.
template <class Body>
void StreamPrefetcher::run(Body&& body) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  is_busy_ = true;
  try {
    if (!is_stopped_) body();
  } catch (const std::exception&) {  // no memory, or damaged metadata, which the reads report
  }
  is_busy_ = false;
}

void StreamPrefetcher::before_reply(uint64_t number) noexcept {
  run([&] {
    ReadSequence& sequence = sequence_of(number);
    sequence.is_due = number >= sequence.next && number + 1 < sequence.end;
    if (number >= sequence.next && !sequence.is_due) store_after(sequence);
  });
}

void StreamPrefetcher::after_reply(uint64_t number) noexcept {
  run([&] {
    for (ReadSequence& sequence : sequences_)
      if (sequence.last == number && std::exchange(sequence.is_due, false)) store_after(sequence);
  });
}

void StreamPrefetcher::stop() noexcept {
  constexpr timespec pause{0, 100'000};
  for (is_stopped_ = true; is_busy_;) nanosleep(&pause, nullptr);
}

// Returns the sequence that the stream continues, or a new one.
StreamPrefetcher::ReadSequence& StreamPrefetcher::sequence_of(uint64_t number) {
  for (ReadSequence& sequence : sequences_)
    if (sequence.last < number && number <= sequence.end) {
      sequence.last = number;
      return sequence;
    }
  newest_ = (newest_ + 1) % sequences_.size();
  return sequences_[newest_] = {number, number + 1, number + 1, first_window};
}

void StreamPrefetcher::store_after(ReadSequence& sequence) {
  const uint64_t first = std::max(sequence.end, sequence.last + 1);
  sequence.end = sequence.next = first;
  if (sequence.pause > 0) {
    --sequence.pause;
    return;
  }
  bool is_known = true, has_next = false;
  for (int64_t room = sequence.window; room > 0; ++sequence.end) {
    const auto node = tree_.at(sequence.end);
    if (!node) break;
    const int64_t size = node->streams->facts(node->stream).size;
    room -= std::max(page, size);
    if (size == 0) continue;
    if (!has_next && room <= sequence.window / 2) {
      has_next = true;
      sequence.next = sequence.end;
    } else if (size <= max_stored && !store(*node, size)) {
      is_known = false;
      break;
    }
  }
  if (!has_next) sequence.next = sequence.end;
  // The kernel does not know the streams of a folder that was not listed. A sequence of such streams pauses.
  sequence.failures = is_known || sequence.end > first ? 0 : std::min(sequence.failures + 1, max_failures);
  sequence.pause = sequence.failures == 0 ? 0 : 1 << sequence.failures;
  sequence.window = std::min(2 * sequence.window, max_window);
}

// Stores a stream of `size` bytes. Returns false if the kernel does not know the stream or refuses its bytes.
bool StreamPrefetcher::store(const mount::TreeNode& node, int64_t size) {
  buffer_.resize(static_cast<size_t>(max_stored));
  const auto bytes = std::span(buffer_).first(static_cast<size_t>(size));
  try {
    if (node.streams->open(node.stream)->read_at(bytes, 0) < bytes.size()) return true;
  } catch (const Error&) {
    return true;
  }
  fuse_bufvec vector = FUSE_BUFVEC_INIT(bytes.size());
  vector.buf[0].mem = bytes.data();
  return fuse_lowlevel_notify_store(&session_, node.number, 0, &vector, FUSE_BUF_NO_SPLICE) == 0;
}

}  // namespace sheaf::cli
