// exchange/window_transfer: the operations of a task in its passes over the window pool
// (exchange/window_call).
#pragma once

#include <optional>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "exchange/transfer/independent.hpp"
#include "exchange/transfer/io_counters.hpp"
#include "exchange/window_call.hpp"
#include "storage/file.hpp"

namespace sheaf::exchange {

// One task's part of a transfer.
class WindowTransfer {
 public:
  // If `marks` is true, put() also marks the bytes in the coverage map, because windows may have gaps.
  WindowTransfer(const WindowCall& call, const FileAccess& access, bool marks, IoCounters& counters)
      : call_(call), access_(access), marks_(marks), done_(access.to), counters_(counters) {}

  // Process this task's part of a window: mark() marks it in the coverage map, put() packs it into the slot,
  // and take() unpacks it from the slot.
  void mark(const WindowPart& part) const;
  void put(const WindowPart& part);
  void take(const WindowPart& part);

  // Transfer whole windows between slots and the file, on one host. Never throw; problem() returns the first
  // error.
  void write(uint64_t number, File& file, Sieving sieving);
  void read(uint64_t number, File& file);

  // Returns the stream position up to which bytes could be read.
  int64_t done() const { return done_; }
  const std::optional<Error>& problem() const { return problem_; }

 private:
  const WindowCall& call_;
  const FileAccess& access_;
  const bool marks_;
  int64_t done_;
  IoCounters& counters_;
  std::optional<Error> problem_;
};

}  // namespace sheaf::exchange
