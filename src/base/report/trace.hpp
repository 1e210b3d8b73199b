// base/report/trace: a time line of each process in the format of Chrome's trace events, which Perfetto
// displays (docs/tuning.md, "Time lines").
//
// SHEAF_TRACE=FILE switches it on. Each process with events writes a file of its own,
// FILE.<host>.<process>.json: a JSON array with an event per line. Times are microseconds of CLOCK_REALTIME
// at the start of the process plus the time since then, so files of several hosts agree as well as the clocks
// of the hosts. If a process is killed, its last events and the closing bracket are missing. A forked child
// records nothing. If the file cannot be created or written, one warning is added (base/warnings), or printed
// at the end of the process, and the time line ends. Each library that contains this module writes a file of
// its own.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/non_copyable.hpp"

namespace sheaf {

// True while events are recorded. Set when the library is loaded. Forked children keep the value.
extern std::atomic<bool> trace_enabled;

// Records the lifetime of the object as an event of this thread. Costs a load and a branch if tracing is off.
// Any thread may use it. Does not throw; without memory, events are dropped.
class TraceEvent : private NonCopyable {
 public:
  // `name` must be a string literal. `offset` and `bytes` describe a file request; negative: none.
  explicit TraceEvent(const char* name, int64_t offset = -1, int64_t bytes = -1)
      : name_(trace_enabled.load(std::memory_order_relaxed) ? name : nullptr) {
    if (name_ != nullptr) begin(offset, bytes);
  }
  ~TraceEvent() {
    if (name_ != nullptr) end();
  }

 private:
  void begin(int64_t offset, int64_t bytes);
  void end() noexcept;

  const char* name_;
  int64_t offset_, bytes_, began_;  // set if name_ is
};

// Names the lane of this process after task `rank`. The first call counts; later ones have no effect.
void trace_task(int64_t rank) noexcept;

}  // namespace sheaf
