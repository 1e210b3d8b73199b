// api/sion/handles/call_scope: what a thread is inside of while it carries out a call of the interface.
//
// A handle that somebody else may want to flush (open mode term=flush) has a gate: a call that uses the
// handle goes in (begin_call), and out when the call ends, that is with the CallScope of guarded(). Handles
// without a gate cost nothing.
//
// A handle is used by one thread at a time. Calls that are more than a copy into a window occupy it, so that
// two threads that meet in such calls get an error in place of a stream that neither has written.
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
  // Out of the gates it went into.
  ~CallScope();

  // Into a gate until the innermost scope of this thread ends, unless one of its scopes is inside already.
  static void enter(const std::shared_ptr<Gate>& gate);
  // Occupies a handle for this thread until its innermost scope ends, unless the thread has done so already.
  // `user`: of the handle; null: unused. Throws wrong_mode if another thread has occupied it.
  static void occupy(std::atomic<const void*>& user);
  // Takes part of who flushes: it is inside already.
  void be_inside(Gate& gate) { inside_ = &gate; }
  // Whether the calling thread is in a call. Async-signal-safe.
  static bool any();

 private:
  bool is_inside(const Gate* gate) const;

  CallScope* const outer_;
  // The first one is kept without memory, of which a call that writes may have none.
  std::shared_ptr<Gate> entered_;
  std::vector<std::shared_ptr<Gate>> also_entered_;
  const Gate* inside_ = nullptr;
  std::atomic<const void*>* occupied_ = nullptr;
};

}  // namespace sheaf::api
