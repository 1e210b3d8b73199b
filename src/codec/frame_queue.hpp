// codec/frame_queue: plain pieces in, frames out, in the same order; compressed by threads of its own while
// the caller does something else, or by the caller.
//
// Holds a plain piece and its frame for each thread and one more. One caller at a time. A forked child, in
// which the threads are gone, goes on without: its queue holds the same pieces, and the caller compresses
// them.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/non_copyable.hpp"
#include "codec/frame_coder.hpp"

namespace sheaf::codec {

// `how` with the number of threads that a task may start when `tasks` tasks share the machine's cores: if not
// given, as many as find a core of their own, and 3 at most.
Compression with_threads(Compression how, int64_t tasks);

class FrameQueue : private NonCopyable {
 public:
  // how.threads >= 0; they are started by the first whole frame, so that streams with little in them start
  // none.
  explicit FrameQueue(const Compression& how);
  ~FrameQueue();

  bool empty() const { return pieces_.empty(); }
  bool has_threads() const { return crew_ != nullptr; }
  // Whether push() has to wait for a pop().
  bool full() const;

  // Adds a piece of at most how.frame bytes, which may be gone after the call. There must be room for it.
  void push(const format::PlainPlace& at, std::span<const std::byte> plain);

  // The frame of the oldest piece, valid until pop(); without `wait` nothing if it is not ready.
  std::optional<std::span<const std::byte>> front(bool wait);
  void pop();

 private:
  struct Piece {
    format::PlainPlace at;
    Scratch memory;
    std::span<const std::byte> plain;
    Scratch out;
    std::span<const std::byte> frame;  // empty: not done
  };
  struct Crew;
  void start_threads();
  void look_for_fork();

  const Compression how_;
  FrameEncoder own_;
  std::deque<std::unique_ptr<Piece>> pieces_;
  std::vector<std::unique_ptr<Piece>> spare_;
  std::unique_ptr<Crew> crew_;  // the threads, and what they share with the caller; null: there are none
  bool started_ = false;
};

}  // namespace sheaf::codec
