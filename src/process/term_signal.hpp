// process/term_signal: what the library still does when the process is told to end (SIGTERM), before the
// program's own action.
//
// A signal handler may do next to nothing: ours wakes a thread, which does what is to be done while the
// program goes on, puts the action back that the program had before, and sends the signal again. So the
// program ends as it would have, in its own handler or by the signal.
#pragma once

#include <chrono>

namespace sheaf {

// So long the end may wait. A signal that comes later than that after an earlier one is obeyed at once.
inline constexpr std::chrono::seconds term_patience{10};

struct TermAction {
  void (*act)();         // what is to be done, within term_patience; never throws
  void (*after)();       // when the signal has been sent again: the program goes on, if its handler wants so
  bool (*in_the_way)();  // whether act() may have to wait for the calling thread; async-signal-safe
};

// From now on SIGTERM means act() and then what it means now; nothing changes for a program that ignores it.
// To be called again after act() has run. The action is the same in all calls. A forked child obeys the
// signal as the program has said, until it calls this itself. A handler that the program installs later
// replaces ours; if it calls ours, act() is done when that returns, unless the signal has come to a thread
// that is in the way. Throws if no thread is to be had. Any thread.
void catch_term(const TermAction& action);

// SIGTERM means again what it meant before, unless the program has said otherwise since.
void release_term();

}  // namespace sheaf
