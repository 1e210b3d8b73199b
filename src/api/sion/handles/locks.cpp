#include "api/sion/handles/locks.hpp"

#include <atomic>

#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/guard.hpp"

namespace sheaf::api {

struct LockCallbacks {
  int (*lock)(void*);
  int (*unlock)(void*);
  void* data;
};

namespace {

// The registered lock. It is set at most once and never removed.
std::atomic<const LockCallbacks*> registered{nullptr};

bool register_lock(int lock(void*), int unlock(void*), void* data) {
  auto* const callbacks = new LockCallbacks{lock, unlock, data};
  const LockCallbacks* none = nullptr;
  if (registered.compare_exchange_strong(none, callbacks, std::memory_order_acq_rel)) return true;
  delete callbacks;
  return false;
}

}  // namespace

void use_library_lock() {
  // The table needs no further lock. Registering callbacks without effect only prevents a later registration
  // by the program.
  const auto nothing = [](void*) { return SION_SUCCESS; };
  if (!registered.load(std::memory_order_acquire)) register_lock(nothing, nothing, nullptr);
}

UserLock::UserLock() : held_(registered.load(std::memory_order_acquire)) {
  if (held_) held_->lock(held_->data);
}

UserLock::~UserLock() {
  if (held_) held_->unlock(held_->data);
}

}  // namespace sheaf::api

int sion_lock_register_lock_callbacks(int lock(void*), int unlock(void*), void* lock_data) {
  using namespace sheaf;
  return api::succeeds("sion_lock_register_lock_callbacks", -1, [&] {
    if (!lock || !unlock) throw Error(Code::invalid_argument, "a lock needs both callbacks");
    if (!api::register_lock(lock, unlock, lock_data))
      throw Error(Code::wrong_mode, "a lock is registered already and stays");
    // Call once, so that a defective lock is detected here.
    lock(lock_data);
    unlock(lock_data);
  });
}

int sion_lock_user_callbacks_defined(void) {
  return sheaf::api::registered.load(std::memory_order_acquire) != nullptr;
}
