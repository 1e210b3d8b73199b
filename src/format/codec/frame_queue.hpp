// format/codec/frame_queue: encodes pieces of plain data as frames, in order. Threads of the queue compress
// the pieces while the caller continues. Without threads, the caller compresses them.
//
// Holds one piece and its frame per thread, and one more pair. Not thread-safe. A forked child has no
// threads, but its queue holds the same pieces, and its caller compresses them.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/non_copyable.hpp"
#include "format/codec/frame_coder.hpp"

namespace sheaf::codec {

// Returns `how` with a definite number of threads. Replaces Compression::automatic_threads by the number of
// idle cores per task, at most 3, if `tasks` tasks share the cores of the host. Keeps any other number.
Compression with_threads(Compression how, int64_t tasks);

class FrameQueue : private NonCopyable {
 public:
  // Creates an empty queue. `how.threads` must be >= 0. The first push() of a complete frame starts the
  // threads, so that short streams start none.
  explicit FrameQueue(const Compression& how);
  ~FrameQueue();

  bool empty() const { return pieces_.empty(); }
  bool has_threads() const { return crew_ != nullptr; }
  // Returns whether a pop() is required before the next push().
  bool full() const;

  // Adds a copy of `plain`, a piece of at most how.frame bytes at position `at`. The queue must not be
  // full().
  void push(const format::PlainPlace& at, std::span<const std::byte> plain);

  // Returns the frame of the oldest piece, valid until pop(). Without `wait`, returns nullopt if the frame is
  // not ready.
  std::optional<std::span<const std::byte>> front(bool wait);
  void pop();

 private:
  struct QueuedFrame {
    format::PlainPlace at;
    Scratch memory;
    std::span<const std::byte> plain;
    Scratch out;
    std::span<const std::byte> frame;  // empty: not ready
  };
  struct Crew;
  void start_threads();
  void look_for_fork();

  const Compression how_;
  FrameEncoder own_;
  std::deque<std::unique_ptr<QueuedFrame>> pieces_;
  std::vector<std::unique_ptr<QueuedFrame>> spare_;
  std::unique_ptr<Crew> crew_;  // threads and the state shared with them; null: no threads
  bool started_ = false;
};

}  // namespace sheaf::codec
