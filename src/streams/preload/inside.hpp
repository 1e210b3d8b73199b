// streams/preload/inside: marks a thread as running inside this library. The library calls the C library, and
// thereby its own entry points. These forward the call to the C library while the thread is inside.
//
// Signals and cancellation are deferred inside. A signal handler that writes to a captured file would wait
// for a lock of its own thread, and a cancelled thread would never release its locks. Code that calls the C
// library while it is not inside may be unwound by a cancellation, so such functions are not noexcept.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/assert.hpp"
#include "base/non_copyable.hpp"

namespace sheaf::preload {

// Preserves errno: its destructor restores the value at the time of its construction.
class KeptErrno : private NonCopyable {
 public:
  ~KeptErrno() { errno = error_; }

 private:
  const int error_ = errno;
};

inline thread_local constinit int depth_inside __attribute__((tls_model("initial-exec"))) = 0;

inline bool is_inside() noexcept { return depth_inside > 0; }

// Signal and cancellation state of a thread before enter(); leave() restores it.
struct Entered {
  uint64_t mask = 0;  // blocked signals
  int cancel = 0;
};

// Marks the calling thread as inside until leave(). Only the handlers of fork(2) call these functions,
// because they enter in one function and leave in another; all other code uses Inside.
inline void enter(Entered& before) noexcept {
  if (depth_inside++ > 0) return;
  const uint64_t all = ~uint64_t{0};  // with the internal signals of the C library, unlike sigfillset(3)
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before.mask, sizeof before.mask);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before.cancel);
}

inline void leave(const Entered& before) noexcept {
  SHEAF_ASSERT(is_inside());
  if (--depth_inside > 0) return;
  const KeptErrno kept;
  pthread_setcancelstate(before.cancel, nullptr);
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before.mask, nullptr, sizeof before.mask);
}

// Marks the calling thread as inside during its lifetime. May be nested.
class Inside : private NonCopyable {
 public:
  Inside() noexcept { enter(before_); }
  ~Inside() { leave(before_); }

 private:
  friend class Outside;
  Entered before_;
};

// Temporarily restores the signal and cancellation state of the program, for a call that blocks. The thread
// must not hold locks. `inside` is the outermost Inside of the thread.
class Outside : private NonCopyable {
 public:
  explicit Outside(const Inside& inside) noexcept {
    SHEAF_ASSERT(depth_inside == 1);  // `inside` is the outermost one
    depth_inside = 0;
    pthread_setcancelstate(inside.before_.cancel, nullptr);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &inside.before_.mask, nullptr, sizeof inside.before_.mask);
  }
  ~Outside() {
    const KeptErrno kept;
    const uint64_t all = ~uint64_t{0};
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, nullptr, sizeof all);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    depth_inside = 1;
  }
};

// Discards signal `number` if it is pending. For signals caused by an operation that the library, not the
// program, has started.
inline void forget_signal(int number) noexcept {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  const timespec at_once{};
  sigtimedwait(&one, nullptr, &at_once);
}

}  // namespace sheaf::preload
