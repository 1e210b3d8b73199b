// base/service_thread: starts threads of the library. They receive no signals, because signals belong to the
// program.
#pragma once

#include <signal.h>

#include <functional>
#include <thread>

#include "base/export.hpp"

namespace sheaf {

// Blocks all signals on the calling thread during its lifetime. Threads started during that time inherit the
// mask and keep it.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// Starts a thread that runs `body` with all signals blocked. Throws std::system_error if the thread cannot be
// created.
SHEAF_EXPORT std::thread service_thread(std::function<void()> body);

}  // namespace sheaf
