// comm/messages: messages between single tasks, sent at any time and received asynchronously. Striped files
// use them to talk to I/O listeners; collective calls are in comm/comm.hpp.
//
// A message is one stream of bytes. The sender gathers it from pieces of memory and the receiver scatters it
// over pieces, without an intermediate copy where the transport allows it (MPI: derived datatypes). A message
// matches the oldest pending receive of its tag and sender. Messages of one sender and tag stay in order. No
// call blocks.
//
// Errors: if the transport fails, the call that observes the failure throws Error io. If a message is longer
// than its receive buffer, it throws Error mismatch.
// Threads: at most one call at a time on one Messages. Several threads may use different Messages of one
// process at once if the transport allows it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "base/assert.hpp"

namespace sheaf {

// `count` pieces of `length` bytes in memory. `stride` is the distance in bytes between the starts of
// consecutive pieces.
struct MemoryRun {
  std::byte* at = nullptr;  // read-only in a send
  int64_t length = 0;
  int64_t stride = 0;
  int64_t count = 1;

  int64_t bytes() const { return length * count; }
};

inline int64_t bytes_of(std::span<const MemoryRun> runs) {
  return std::transform_reduce(runs.begin(), runs.end(), int64_t{0}, std::plus(),
                               [](const MemoryRun& run) { return run.bytes(); });
}

// Calls take(pointer, bytes) for every piece of the runs, in order.
template <class Take>
void for_each_piece(std::span<const MemoryRun> runs, Take take) {
  for (const MemoryRun& run : runs)
    for (int64_t i = 0; i < run.count; ++i) take(run.at + i * run.stride, static_cast<size_t>(run.length));
}

// Copies `from` into the pieces of the runs, in order. `from` must have at least bytes_of(runs) bytes.
inline void scatter(std::span<const std::byte> from, std::span<const MemoryRun> runs) {
  SHEAF_DEBUG_ASSERT(std::ssize(from) >= bytes_of(runs));
  for_each_piece(runs, [&](std::byte* at, size_t length) {
    std::memcpy(at, from.data(), length);
    from = from.subspan(length);
  });
}

// Iterates over the pieces of runs, in order.
class RunCursor {
 public:
  explicit RunCursor(std::span<const MemoryRun> runs) : runs_(runs) {}

  // Calls take(std::span<std::byte>) for the pieces of the next `length` bytes. Returns false if fewer are
  // left.
  template <class Take>
  bool next(int64_t length, Take take) {
    while (length > 0) {
      if (run_ == runs_.size()) return false;
      const MemoryRun& run = runs_[run_];
      if (piece_ == run.count) {
        ++run_;
        piece_ = 0;
        continue;
      }
      const int64_t bytes = std::min(length, run.length - done_);
      if (bytes > 0) take(std::span(run.at + piece_ * run.stride + done_, static_cast<size_t>(bytes)));
      length -= bytes;
      done_ += bytes;
      if (done_ < run.length) continue;
      done_ = 0;
      ++piece_;
    }
    return true;
  }

 private:
  std::span<const MemoryRun> runs_;
  size_t run_ = 0;
  int64_t piece_ = 0;
  int64_t done_ = 0;  // bytes consumed of the current piece
};

// Returns a run for memory to be sent. A send does not modify the memory.
inline MemoryRun run_of(std::span<const std::byte> bytes) {
  return {const_cast<std::byte*>(bytes.data()), std::ssize(bytes), std::ssize(bytes), 1};
}

// A message in flight. The memory of its pieces must stay valid until done() returns true or the Transfer is
// destroyed. Destroying an incomplete Transfer cancels it: a receive writes nothing more; a send may still
// read its memory unless the receiver has terminated.
class Transfer {
 public:
  virtual ~Transfer() = default;
  virtual bool done() = 0;            // true if the transfer is complete; makes progress
  virtual int64_t bytes() const = 0;  // bytes received; valid after done()
  virtual int peer() const = 0;       // sender; valid after done()
};

class Messages {
 public:
  static constexpr int any_task = -1;
  static constexpr int highest_tag = 32000;  // tags are 0..highest_tag

  virtual ~Messages() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Start to send or receive a message; the Transfer completes it. Local. A message must be shorter than 2
  // GiB. The list of pieces must stay valid during the call only; its memory must stay valid during the
  // transfer.
  virtual std::unique_ptr<Transfer> send(int peer, int tag, std::span<const MemoryRun> pieces) = 0;
  virtual std::unique_ptr<Transfer> receive(int peer, int tag, std::span<const MemoryRun> room) = 0;

  // Returns the seconds of a monotonic clock.
  virtual double now() = 0;

  // Backs off after `idle` seconds without work: yields the processor, for longer as `idle` grows.
  virtual void back_off(double idle) = 0;
};

}  // namespace sheaf
