#include "api/sion/handles/call_scope.hpp"

#include <algorithm>

#include "api/sion/handles/term_flush.hpp"
#include "base/error.hpp"

namespace sheaf::api {

namespace {
// Read by a signal handler, which must not be the first to touch it: no lazy allocation.
[[gnu::tls_model("initial-exec")]] thread_local CallScope* innermost = nullptr;
}  // namespace

CallScope::CallScope() : outer_(innermost) { innermost = this; }

CallScope::~CallScope() {
  for (const auto& gate : entered_) gate->leave();
  if (occupied_) occupied_->store(nullptr, std::memory_order_release);
  innermost = outer_;
}

void CallScope::enter(const std::shared_ptr<Gate>& gate) {
  for (const CallScope* s = innermost; s; s = s->outer_)
    if (s->inside_ == gate.get() || std::ranges::find(s->entered_, gate) != s->entered_.end()) return;
  if (!innermost) return;
  innermost->entered_.reserve(innermost->entered_.size() + 1);
  if (gate->enter()) innermost->entered_.push_back(gate);
}

void CallScope::occupy(std::atomic<const void*>& user) {
  const void* const own = &innermost;  // differs between threads
  if (!innermost || innermost->occupied_) return;
  const void* found = nullptr;
  if (user.compare_exchange_strong(found, own, std::memory_order_acquire)) {
    innermost->occupied_ = &user;
  } else if (found != own) {
    throw Error(
        Code::wrong_mode,
        "another thread is in a call on this handle; one handle is used by one thread at a time: open "
        "the multifile once for each thread, or hold a lock around the calls");
  }
}

bool CallScope::any() { return innermost != nullptr; }

}  // namespace sheaf::api
