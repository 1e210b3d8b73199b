// api/sion/handles/locks: the lock that a program may register for the handle table
// (sion_lock_register_lock_callbacks).
//
// The table is safe with its own mutex. The lock of the program is held in addition, for runtimes in which
// tasks must not block in a mutex. Only opening and closing take it.
#pragma once

#include "base/export.hpp"
#include "base/non_copyable.hpp"

namespace sheaf::api {

// Registers a lock without effect if none is registered, so that the program can no longer register one. The
// opens of the thread families call the function.
SHEAF_EXPORT void use_library_lock();

// Holds the registered lock, if any, during its lifetime.
class UserLock : private NonCopyable {
 public:
  UserLock();
  ~UserLock();

 private:
  const struct LockCallbacks* held_;
};

}  // namespace sheaf::api
