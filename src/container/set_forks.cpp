#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "container/open_set.hpp"

namespace sheaf {

namespace {

template <class T>
struct All {
  std::mutex mutex;
  std::vector<T*> members;

  void note(T* one) {
    const std::lock_guard guard(mutex);
    members.push_back(one);
  }
  void forget(T* one) {
    const std::lock_guard guard(mutex);
    std::erase(members, one);
  }
  void before_fork() {
    mutex.lock();
    for (T* const one : members) one->before_fork();
  }
  template <class... Side>
  void after_fork(Side... side) {
    for (T* const one : members) one->after_fork(side...);
    mutex.unlock();
  }
};

struct Everybody {
  All<HostSetForks> sets;
  All<OpenSet> open;
  All<SetView> views;

  void before_fork() {
    sets.before_fork();
    open.before_fork();
    views.before_fork();
  }
  void after_fork(bool in_child) {
    views.after_fork();
    open.after_fork(in_child);
    sets.after_fork();
  }
};

// There from the start and never destroyed: programs fork while their static objects go away.
union Kept {
  constexpr Kept() : all() {}
  ~Kept() {}
  Everybody all;
};
constinit Kept kept;

Everybody& everybody() {
  static const int registered =
      pthread_atfork([] { everybody().before_fork(); }, [] { everybody().after_fork(false); },
                     [] { everybody().after_fork(true); });
  static_cast<void>(registered);
  return kept.all;
}

}  // namespace

void ContainerSet::watch_forks() { everybody(); }

void note(HostSetForks* set) { everybody().sets.note(set); }
void forget(HostSetForks* set) { everybody().sets.forget(set); }
void note(OpenSet* set) { everybody().open.note(set); }
void forget(OpenSet* set) { everybody().open.forget(set); }
void note(SetView* view) { everybody().views.note(view); }
void forget(SetView* view) { everybody().views.forget(view); }

}  // namespace sheaf
