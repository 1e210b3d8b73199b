// api/sion/handles/term_flush: the open mode word term=flush. On SIGTERM, data written to handles with this
// word are flushed and recorded before the program's own action for the signal runs (base/os/term_signal).
//
// A library thread flushes while the program continues. Every call on such a handle enters the gate of the
// handle. The thread flushes handles that no call is using; a handle in use is flushed by its call when the
// call ends. After all handles are flushed, the thread shuts the gates and flushes once more, so that no call
// returns between this flush and the end of the process. The gates open after the signal was sent again. They
// also open if a call does not end because it depends on another call that waits at a gate. No call waits
// longer than term_timeout.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/forks.hpp"
#include "base/non_copyable.hpp"

namespace sheaf::api {

class SionHandle;

class Gate : private NonCopyable {
 public:
  explicit Gate(SionHandle& handle);

  // Enters the gate for a call of the program. Waits while a flush runs or the gate is shut. Returns false if
  // another thread is in a call, which is a program error.
  bool enter();
  // Leaves the gate. If a flush was requested, performs it first.
  void leave();
  // Prevents further flushes because the handle is closing. Waits while a flush runs or the gate is shut.
  void close();

  // Flushes if no call is inside; otherwise requests that the call flushes on leaving. Returns true if the
  // handle was flushed since flushes() returned `since`, or needs no flush.
  bool flush(uint64_t since);
  // Lets calls enter a gate that is shut.
  void open();
  uint64_t flushes() const { return flushes_.load(); }
  const std::string& path() const { return path_; }

 private:
  enum GateState : uint32_t { free, called, wanted, flushing, shut, closed };
  void flush_now();
  void end_flush();
  bool flush_apart();

  std::atomic<uint32_t> state_{free};  // wanted: called, with a flush requested for the end of the call
  std::atomic<uint64_t> flushes_{0};
  SionHandle*
      handle_;  // accessed only in `called`, `wanted` and `flushing`, by the thread that set the state
  const std::string path_;
  const int64_t process_ = forks();
};

// Makes SIGTERM flush the handle of this gate from now on. Throws if no thread can be created.
void watch(const std::shared_ptr<Gate>& gate);
// Stops watching a gate.
void no_longer_watch(const Gate& gate);

}  // namespace sheaf::api
