// comm/messages: messages between single tasks, at any moment, that the receiver does not expect at a place
// of the program. What striped files talk to I/O listeners with; collective calls are comm/comm.hpp's.
//
// A message is one stream of bytes that its sender gathers from pieces of memory and its receiver spreads
// over pieces, without a copy in between where the transport can (MPI: derived datatypes). A message goes to
// the oldest receive that is waiting for its tag and sender; messages of one sender and tag stay in order.
// Nothing here blocks.
//
// Errors: a failing transport throws Error io from the call that sees it. A message longer than its room is
// Error mismatch. Threads: one at a time on one Messages; several Messages of one process may be used by
// several threads if the transport was made for that.
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

namespace sheaf {

// `count` pieces of `length` bytes in memory, `stride` bytes from one to the next.
struct MemoryRun {
  std::byte* at = nullptr;  // only read where it is sent
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

// Copies as many bytes as the runs have to their pieces, in order.
inline void scatter(std::span<const std::byte> from, std::span<const MemoryRun> runs) {
  for_each_piece(runs, [&](std::byte* at, size_t length) {
    std::memcpy(at, from.data(), length);
    from = from.subspan(length);
  });
}

// Goes through the pieces of runs, in order.
class RunCursor {
 public:
  explicit RunCursor(std::span<const MemoryRun> runs) : runs_(runs) {}

  // take(std::span<std::byte>) for pieces of the next `length` bytes. False if there are fewer.
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
  int64_t done_ = 0;  // bytes of the piece
};

// A run over memory that is sent, and so not changed.
inline MemoryRun run_of(std::span<const std::byte> bytes) {
  return {const_cast<std::byte*>(bytes.data()), std::ssize(bytes), std::ssize(bytes), 1};
}

// A message under way. The memory of its pieces must live until done() or the end of the Transfer, which
// gives up what is not done: a receive takes nothing more; a send may still read its memory unless the
// receiver is gone.
class Transfer {
 public:
  virtual ~Transfer() = default;
  virtual bool done() = 0;            // whether it is complete; moves it on
  virtual int64_t bytes() const = 0;  // received; after done()
  virtual int peer() const = 0;       // where it came from; after done()
};

class Messages {
 public:
  static constexpr int any_task = -1;
  static constexpr int highest_tag = 32000;  // tags are 0..highest_tag

  virtual ~Messages() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Local. Less than 2 GiB in one message. The lists are only looked at during the call.
  virtual std::unique_ptr<Transfer> send(int peer, int tag, std::span<const MemoryRun> pieces) = 0;
  virtual std::unique_ptr<Transfer> receive(int peer, int tag, std::span<const MemoryRun> room) = 0;

  // Seconds of a clock that never goes back.
  virtual double now() = 0;

  // Nothing to do for `idle` seconds now: lets others have the processor, longer the longer it has been.
  virtual void rest(double idle) = 0;
};

}  // namespace sheaf
