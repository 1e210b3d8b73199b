
#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "container/open_set.hpp"

namespace sheaf {

namespace {

struct Sets {
  std::mutex mutex;
  std::vector<OpenSet*> open;
};

// Never destroyed: programs fork while their static objects go away.
Sets& sets() {
  static auto* const all = new Sets;
  return *all;
}

void before() {
  sets().mutex.lock();
  for (OpenSet* const set : sets().open) set->before_fork();
}

void after(bool in_child) {
  for (OpenSet* const set : sets().open) set->after_fork(in_child);
  sets().mutex.unlock();
}

}  // namespace

void note_set(OpenSet* set) {
  static const int registered = pthread_atfork(
      before, [] { after(false); }, [] { after(true); });
  static_cast<void>(registered);
  const std::lock_guard guard(sets().mutex);
  sets().open.push_back(set);
}

void forget_set(OpenSet* set) {
  const std::lock_guard guard(sets().mutex);
  std::erase(sets().open, set);
}

}  // namespace sheaf
