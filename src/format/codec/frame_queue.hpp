// format/codec/frame_queue: turns plain pieces into frames in order. The queue's own threads compress while
// the caller continues; without threads, the caller compresses.
//
// Memory: a plain piece and its frame for each thread, and one more pair. Not thread-safe. A forked child has
// no threads; its queue holds the same pieces, and the caller compresses them.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/non_copyable.hpp"
#include "format/codec/frame_coder.hpp"

namespace sheaf::codec {

// Returns `how` with the number of threads that a task may start if `tasks` tasks share the machine's cores.
// If `how` does not specify a number, this is the number of otherwise idle cores per task, at most 3.
Compression with_threads(Compression how, int64_t tasks);

class FrameQueue : private NonCopyable {
 public:
  // how.threads must be >= 0. The first complete frame starts the threads, so that short streams start none.
  explicit FrameQueue(const Compression& how);
  ~FrameQueue();

  bool empty() const { return pieces_.empty(); }
  bool has_threads() const { return crew_ != nullptr; }
  // Returns whether a pop() is required before the next push().
  bool full() const;

  // Adds a copy of a piece of at most how.frame bytes. The queue must not be full().
  void push(const format::PlainPlace& at, std::span<const std::byte> plain);

  // Returns the frame of the oldest piece, valid until pop(). Without `wait`, returns nullopt if the frame is
  // not ready.
  std::optional<std::span<const std::byte>> front(bool wait);
  void pop();

 private:
  struct Piece {
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
  std::deque<std::unique_ptr<Piece>> pieces_;
  std::vector<std::unique_ptr<Piece>> spare_;
  std::unique_ptr<Crew> crew_;  // threads and the state shared with them; null: no threads
  bool started_ = false;
};

}  // namespace sheaf::codec
