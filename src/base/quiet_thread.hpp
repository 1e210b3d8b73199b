// base/quiet_thread: threads of the library's own. Signals are the program's: none is delivered to them.
#pragma once

#include <signal.h>

#include <functional>
#include <thread>

#include "base/export.hpp"

namespace sheaf {

// While it lives, no signal is delivered to the calling thread. Threads that it starts meanwhile inherit that
// for good.
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

// Starts one. Throws std::system_error where there are no more to be had.
SHEAF_EXPORT std::thread quiet_thread(std::function<void()> body);

}  // namespace sheaf
