#include "api/sion/handles/call_scope.hpp"

#include <algorithm>

#include "api/sion/handles/term_flush.hpp"

namespace sheaf::api {

namespace {
// Read by a signal handler, which must not be the first to touch it: no lazy allocation.
[[gnu::tls_model("initial-exec")]] thread_local CallScope* innermost = nullptr;
}  // namespace

CallScope::CallScope() : outer_(innermost) { innermost = this; }

CallScope::~CallScope() {
  for (const auto& gate : entered_) gate->leave();
  innermost = outer_;
}

void CallScope::enter(const std::shared_ptr<Gate>& gate) {
  for (const CallScope* s = innermost; s; s = s->outer_)
    if (s->inside_ == gate.get() || std::ranges::find(s->entered_, gate) != s->entered_.end()) return;
  if (!innermost) return;
  innermost->entered_.reserve(innermost->entered_.size() + 1);
  if (gate->enter()) innermost->entered_.push_back(gate);
}

bool CallScope::any() { return innermost != nullptr; }

}  // namespace sheaf::api
