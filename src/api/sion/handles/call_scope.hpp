// api/sion/handles/call_scope: tracks the handles that a thread uses during a call of the interface.
//
// A handle that another thread may flush (open mode term=flush) has a gate. A call on the handle enters the
// gate in begin_call() and leaves it when the CallScope of guarded() ends. Handles without a gate cost
// nothing.
//
// Only one thread at a time may use a handle. A call that does more than copy into a window occupies the
// handle. If two threads make such calls at once, one of them gets an error, so that their data are not
// mixed.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/export.hpp"
#include "base/non_copyable.hpp"

namespace sheaf::api {

class Gate;

class SHEAF_EXPORT CallScope : private NonCopyable {
 public:
  CallScope();
  // Leaves all gates that the scope has entered.
  ~CallScope();

  // Enters a gate until the innermost scope of this thread ends. No effect if a scope of the thread is inside
  // the gate already.
  static void enter(const std::shared_ptr<Gate>& gate);
  // Occupies a handle for this thread until its innermost scope ends. No effect if the thread occupies it
  // already. `user` is the current user of the handle; null if unused. Throws wrong_mode if another thread
  // occupies it.
  static void occupy(std::atomic<const void*>& user);
  // Marks the scope of a flushing thread as inside `gate` without entering.
  void be_inside(Gate& gate) { inside_ = &gate; }
  // Returns whether the calling thread is in a call. Async-signal-safe.
  static bool any();

 private:
  bool is_inside(const Gate* gate) const;

  CallScope* const outer_;
  // The first gate needs no allocation, because memory may be exhausted in a call that writes.
  std::shared_ptr<Gate> entered_;
  std::vector<std::shared_ptr<Gate>> also_entered_;
  const Gate* inside_ = nullptr;
  std::atomic<const void*>* occupied_ = nullptr;
};

}  // namespace sheaf::api
