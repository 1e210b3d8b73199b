// api/sion/handles/term_flush: the open mode word term=flush: when the process is told to end (SIGTERM), what
// has been written to such handles is flushed and recorded before the program's own action follows
// (process/term_signal).
//
// A thread of the library does that while the program goes on. Each such handle has a gate, through which
// every call goes: the thread flushes handles that no call is in; a call that it finds in a handle flushes
// that itself when it ends. When all are flushed, once more with the gates shut, so that no call returns
// between that and the end: it waits. They open when the signal has been sent again, or if a call does not
// end, because it needs another one that waits. Nobody waits longer than term_patience.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/forks.hpp"
#include "base/non_copyable.hpp"

namespace sheaf::api {

class Handle;

class Gate : private NonCopyable {
 public:
  explicit Gate(Handle& handle);

  // A call of the program begins, once nobody flushes. False: another thread is in a call, which a program
  // may not do.
  bool enter();
  // It ends. If a flush is wanted, it is made now.
  void leave();
  // The handle is going: nothing more is to be flushed. Waits for one who does.
  void close();

  // Flushes if no call is in the way; else the call will. True when the handle has been flushed since
  // flushes() was `since`, or need not be.
  bool flush(uint64_t since);
  // Lets calls in again.
  void open();
  uint64_t flushes() const { return flushes_.load(); }
  const std::string& path() const { return path_; }

 private:
  enum State : uint32_t { free, called, wanted, flushing, shut, closed };
  void flush_now();
  void end_flush();
  bool flush_apart();

  std::atomic<uint32_t> state_{free};  // wanted: called, and to be flushed when that ends
  std::atomic<uint64_t> flushes_{0};
  Handle* handle_;  // used in `called`, `wanted` and `flushing` alone, by those who have made the state so
  const std::string path_;
  const int64_t process_ = forks();
};

// From now on the handle of this gate is flushed when SIGTERM comes. Throws if no thread is to be had.
void watch(const std::shared_ptr<Gate>& gate);
// The gate is closed.
void no_longer_watch(const Gate& gate);

}  // namespace sheaf::api
