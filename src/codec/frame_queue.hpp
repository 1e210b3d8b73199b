// codec/frame_queue: plain pieces in, frames out, in the same order; compressed by threads of its own while the caller does
// something else, or by the caller.
//
// Holds a plain piece and its frame for each thread and one more. One caller at a time.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "codec/frame_coder.hpp"

namespace sheaf::codec {

// `how` with the number of threads that a task may start when `tasks` tasks share the machine's cores: if not given, as many
// as find a core of their own, and 3 at most.
Compression with_threads(Compression how, int64_t tasks);

class FrameQueue {
 public:
  // how.threads >= 0; they are started by the first whole frame, so that streams with little in them start none.
  explicit FrameQueue(const Compression& how) : how_(how), own_(how) {}
  ~FrameQueue();
  FrameQueue(const FrameQueue&) = delete;
  FrameQueue& operator=(const FrameQueue&) = delete;

  bool empty() const { return pieces_.empty(); }
  bool has_threads() const { return !workers_.empty(); }
  // Whether push() has to wait for a pop().
  bool full() const { return pieces_.size() >= workers_.size() + 1; }

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
  void start_threads();
  void work();

  const Compression how_;
  FrameEncoder own_;
  std::mutex mutex_;  // guards what follows while there are threads
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Piece>> pieces_;
  std::deque<Piece*> to_do_;
  std::vector<std::unique_ptr<Piece>> spare_;
  std::vector<std::thread> workers_;
  bool started_ = false;
  bool ends_ = false;
};

}  // namespace sheaf::codec
