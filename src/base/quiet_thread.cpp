#include "base/quiet_thread.hpp"

#include <signal.h>

#include <utility>

namespace sheaf {

namespace {

// New threads inherit the mask.
struct AllBlocked {
  AllBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
  }
  ~AllBlocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  sigset_t before;
};

}  // namespace

std::thread quiet_thread(std::function<void()> body) {
  const AllBlocked blocked;
  return std::thread(std::move(body));
}

}  // namespace sheaf
