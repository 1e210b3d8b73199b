#include "api/sion/handles/term_flush.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include "api/sion/handles/call_scope.hpp"
#include "api/sion/handles/guard.hpp"
#include "api/sion/handles/handle.hpp"
#include "base/assert.hpp"
#include "base/os/deadline.hpp"
#include "base/os/term_signal.hpp"
#include "comm/agree.hpp"

namespace sheaf::api {

namespace {
std::atomic<bool> shutting{false};  // flushed gates remain shut
}  // namespace

Gate::Gate(SionHandle& handle) : handle_(&handle), path_(handle.path()) {}

bool Gate::enter() {
  for (;;) {
    uint32_t state = free;
    if (state_.compare_exchange_strong(state, called)) return true;
    if (state != flushing && state != shut) return false;
    if (process_ != forks()) {  // the thread that set the state exists only in the parent
      state_ = called;
      return true;
    }
    state_.wait(state);
  }
}

void Gate::leave() {
  uint32_t state = called;
  if (state_.compare_exchange_strong(state, free) || state == closed) return;
  SHEAF_ASSERT(state == wanted);
  state_ = flushing;
  flush_now();
  end_flush();
}

// Ends a flush. Leaves the gate shut if all gates are being shut, otherwise opens it. If open_gates() ran in
// between, opens the gate as well.
void Gate::end_flush() {
  SHEAF_ASSERT(state_ == flushing);
  state_ = shutting ? shut : free;
  state_.notify_all();
  if (!shutting) open();
}

void Gate::open() {
  uint32_t state = shut;
  if (state_.compare_exchange_strong(state, free)) state_.notify_all();
}

void Gate::close() {
  for (;;) {
    uint32_t state = state_;
    if ((state == flushing || state == shut) && process_ == forks()) {
      state_.wait(state);
    } else if (state_.compare_exchange_strong(state, closed)) {
      handle_ = nullptr;
      return;
    }
  }
}

// Flushes the handle, including stdio buffers, while holding the lock of the program's stream. Returns false
// without flushing if the program is writing to the stream.
bool Gate::flush_apart() {
  FILE* const stream = handle_->own_stream();
  if (stream && ::ftrylockfile(stream) != 0) return false;
  flush_now();
  if (stream) ::funlockfile(stream);
  return true;
}

void Gate::flush_now() {
  CallScope scope;
  scope.be_inside(*this);
  const auto problem = attempt([&] {
    handle_->settle();
    handle_->writes->commit();
  });
  if (problem) report("term=flush", *problem, handle_->task(), 0);
  if (warnings_wait()) say_warnings("term=flush", handle_->task());
  ++flushes_;
}

bool Gate::flush(uint64_t since) {
  if (process_ != forks() || flushes_ != since) return true;
  uint32_t state = free;
  if (state_.compare_exchange_strong(state, flushing)) {
    if (flush_apart()) {
      end_flush();
      return true;
    }
    state_ = free;
    state_.notify_all();
    return false;
  }
  if (state == called) state_.compare_exchange_strong(state, wanted);
  return state == closed;
}

namespace {

// Gates of the handles to flush. The object is never destroyed, because a signal may arrive while the process
// exits.
struct WatchedGates {
  std::mutex mutex;
  std::vector<std::shared_ptr<Gate>> gates;
};

WatchedGates& watched() {
  static WatchedGates* const all = [] {
    static auto* const made = new WatchedGates;
    // Locks the mutex during a fork. Otherwise another thread could hold it, and the child would inherit a
    // mutex that no thread of the child unlocks.
    pthread_atfork([] { made->mutex.lock(); }, [] { made->mutex.unlock(); }, [] { made->mutex.unlock(); });
    return made;
  }();
  return *all;
}

std::vector<std::shared_ptr<Gate>> all_gates() {
  const std::lock_guard lock(watched().mutex);
  return watched().gates;
}

// Flushes every handle once. A handle with an active call is flushed when the call ends. Returns the gates of
// the handles that were not flushed within `timeout`.
std::vector<std::shared_ptr<Gate>> flush_within(std::chrono::milliseconds timeout) {
  std::vector<std::shared_ptr<Gate>> pending = all_gates();
  std::vector<uint64_t> since;
  for (const auto& gate : pending) since.push_back(gate->flushes());
  const Deadline deadline(timeout);
  for (;;) {
    size_t left = 0;
    for (size_t i = 0; i < pending.size(); ++i) {
      if (pending[i]->flush(since[i])) continue;
      std::swap(pending[left], pending[i]);
      std::swap(since[left++], since[i]);
    }
    pending.resize(left);
    if (pending.empty() || deadline.expired()) return pending;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void flush_all() {
  constexpr std::chrono::milliseconds last_look{200};
  for (const auto& gate : flush_within(term_timeout - last_look))
    warn("term=flush", "'" + gate->path() + "' is not flushed: a call that uses it does not end", -1);
  shutting = true;
  flush_within(last_look);
}

void open_gates() {
  shutting = false;
  for (const auto& gate : all_gates()) gate->open();
}

}  // namespace

void watch(const std::shared_ptr<Gate>& gate) {
  const TermAction action{[] { attempt(flush_all); }, [] { attempt(open_gates); }, &CallScope::any};
  WatchedGates& all = watched();
  {
    const std::lock_guard lock(all.mutex);
    all.gates.push_back(gate);
  }
  if (const auto problem = attempt([&] { catch_term(action); })) {
    no_longer_watch(*gate);
    throw *problem;
  }
}

void no_longer_watch(const Gate& gate) {
  WatchedGates& all = watched();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.gates, [&](const auto& g) { return g.get() == &gate; });
  if (all.gates.empty()) release_term();
}

}  // namespace sheaf::api
