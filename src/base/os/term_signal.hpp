// base/os/term_signal: runs work of the library on SIGTERM, before the program's own action.
//
// A signal handler may call very few functions. Ours wakes a thread, which does the work while the program
// continues, restores the program's action, and sends the signal again. The program then ends as it would
// have without Sheaf: in its own handler or by the signal.
#pragma once

#include <chrono>

namespace sheaf {

// Time for which the library may delay the program's own action. A further SIGTERM after this time is passed
// on to the program at once.
inline constexpr std::chrono::seconds term_timeout{10};

struct TermAction {
  void (*act)();         // the work, which takes at most term_timeout; never throws
  void (*after)();       // called after the signal has been sent again, if the program continues
  bool (*in_the_way)();  // whether act() may have to wait for the calling thread; async-signal-safe
};

// Installs a handler for SIGTERM that runs act() before the current action. Does nothing if the program
// ignores the signal. Must be called again after act() has run. All calls must pass the same action.
//
// A forked child has the program's action until it calls this itself. A handler that the program installs
// later replaces ours. If that handler calls ours, act() has run when ours returns, unless the signal
// interrupted a thread for which in_the_way() is true.
//
// Throws if the thread cannot be created. Any thread may call it.
void catch_term(const TermAction& action);

// Restores the previous action of SIGTERM, unless the program has changed it since.
void release_term();

}  // namespace sheaf
