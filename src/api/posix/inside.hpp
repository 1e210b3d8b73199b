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

class Inside {
 public:
  Inside() noexcept {
    if (depth_inside++ > 0) return;
    const uint64_t all = ~uint64_t{0};  // also the C library's own signals, which sigprocmask would leave
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask_, sizeof mask_);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() {
    if (--depth_inside > 0) return;
    const int error = errno;
    pthread_setcancelstate(cancel_, nullptr);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask_, nullptr, sizeof mask_);
    errno = error;
  }

 private:
  friend class Outside;
  uint64_t mask_ = 0;
  int cancel_ = 0;
};

// For a call that waits for others: signals and cancellation come as they do outside. Nothing that has a lock
// may do so; `inside` is the one that the caller of the library has entered by.
class Outside {
 public:
  explicit Outside(const Inside& inside) noexcept {
    depth_inside = 0;
    pthread_setcancelstate(inside.cancel_, nullptr);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &inside.mask_, nullptr, sizeof inside.mask_);
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

}  // namespace sheaf::posix
