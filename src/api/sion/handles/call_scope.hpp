// api/sion/handles/call_scope: what a thread is inside of while it carries out a call of the interface.
//
// A handle that somebody else may want to flush (open mode term=flush) has a gate: a call that uses the
// handle goes in (begin_call), and out when the call ends, that is with the CallScope of guarded(). Handles
// without a gate cost nothing.
#pragma once

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
  // Takes part of who flushes: it is inside already.
  void be_inside(Gate& gate) { inside_ = &gate; }
  // Whether the calling thread is in a call. Async-signal-safe.
  static bool any();

 private:
  CallScope* const outer_;
  std::vector<std::shared_ptr<Gate>> entered_;
  const Gate* inside_ = nullptr;
};

}  // namespace sheaf::api
