// api/sion/handles/locks: the lock a program may bring for the handle table
// (sion_lock_register_lock_callbacks).
//
// The table has a mutex of its own and is safe without; a program's lock is held around it in addition, for
// runtimes whose tasks must not block in a mutex. Only opening and closing take it.
#pragma once

#include "base/export.hpp"
#include "base/non_copyable.hpp"

namespace sheaf::api {

// The thread families of the interface register a lock of their own if there is none yet; it does nothing,
// but a program cannot register another one from then on.
SHEAF_EXPORT void use_library_lock();

// Holds the registered lock, if any, while it lives.
class UserLock : private NonCopyable {
 public:
  UserLock();
  ~UserLock();

 private:
  const struct LockCallbacks* held_;
};

}  // namespace sheaf::api
