#include "api/sion/handles/call_scope.hpp"

#include <algorithm>

#include "api/sion/handles/term_flush.hpp"
#include "base/error.hpp"

namespace sheaf::api {

namespace {
// Read by a signal handler, which must not trigger lazy allocation of thread-local storage.
[[gnu::tls_model("initial-exec")]] thread_local CallScope* innermost = nullptr;
}  // namespace

CallScope::CallScope() : outer_(innermost) { innermost = this; }

CallScope::~CallScope() {
  if (entered_) entered_->leave();
  for (const auto& gate : also_entered_) gate->leave();
  if (occupied_) occupied_->store(nullptr, std::memory_order_release);
  innermost = outer_;
}

void CallScope::enter(const std::shared_ptr<Gate>& gate) {
  for (const CallScope* s = innermost; s; s = s->outer_)
    if (s->is_inside(gate.get())) return;
  if (!innermost) return;
  CallScope& scope = *innermost;
  if (scope.entered_) scope.also_entered_.reserve(scope.also_entered_.size() + 1);
  if (!gate->enter()) return;
  if (scope.entered_) {
    scope.also_entered_.push_back(gate);
  } else {
    scope.entered_ = gate;
  }
}

bool CallScope::is_inside(const Gate* gate) const {
  const auto is_it = [&](const auto& entered) { return entered.get() == gate; };
  return inside_ == gate || is_it(entered_) || std::ranges::any_of(also_entered_, is_it);
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
