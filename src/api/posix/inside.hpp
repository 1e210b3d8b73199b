// api/posix/inside: being inside this library. What runs below, the containers, calls the C library as well
// and meets our entry points: those pass such calls on. Signals and cancellation wait meanwhile, because a
// handler that writes to a captured file would wait for a lock that its own thread holds, and a thread that
// is cancelled would keep it for ever. What calls the C library outside may be unwound there by a
// cancellation, so it is not noexcept.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace sheaf::posix {

inline thread_local constinit int depth_inside __attribute__((tls_model("initial-exec"))) = 0;

inline bool is_inside() noexcept { return depth_inside > 0; }

// What the thread is outside, to which leave() goes back.
struct Entered {
  uint64_t mask = 0;  // of signals
  int cancel = 0;
};

// For handlers of fork(2), which go in by one function and out by another; all others take an Inside.
inline void enter(Entered& before) noexcept {
  if (depth_inside++ > 0) return;
  const uint64_t all = ~uint64_t{0};  // also the C library's own signals, which sigprocmask would leave
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before.mask, sizeof before.mask);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before.cancel);
}

inline void leave(const Entered& before) noexcept {
  if (--depth_inside > 0) return;
  const int error = errno;
  pthread_setcancelstate(before.cancel, nullptr);
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before.mask, nullptr, sizeof before.mask);
  errno = error;
}

class Inside {
 public:
  Inside() noexcept { enter(before_); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { leave(before_); }

 private:
  friend class Outside;
  Entered before_;
};

// For a call that waits for others: signals and cancellation come as they do outside. Nothing that has a lock
// may do so; `inside` is the one that the caller of the library has entered by.
class Outside {
 public:
  explicit Outside(const Inside& inside) noexcept {
    depth_inside = 0;
    pthread_setcancelstate(inside.before_.cancel, nullptr);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &inside.before_.mask, nullptr, sizeof inside.before_.mask);
  }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;
  ~Outside() {
    const int error = errno;
    const uint64_t all = ~uint64_t{0};
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, nullptr, sizeof all);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    depth_inside = 1;
    errno = error;
  }
};

// Takes back a signal that waits because of what the library does by itself.
inline void forget_signal(int number) noexcept {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  const timespec at_once{};
  sigtimedwait(&one, nullptr, &at_once);
}

}  // namespace sheaf::posix
