#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "streams/container/open_set.hpp"

namespace sheaf::streams {

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
  template <class Begin>
  void before_fork(Begin begin) {
    mutex.lock();
    for (T* const one : members) begin(*one);
  }
  template <class End>
  void after_fork(End end) {
    for (T* const one : members) end(*one);
    mutex.unlock();
  }
};

struct Everybody {
  All<SetMutex> sets, views;
  All<OpenSet> open;

  All<SetMutex>& of(SetMutex::Of what) { return what == SetMutex::Of::set ? sets : views; }
  void before_fork() {
    const auto lock = [](SetMutex& one) { one.lock(); };
    sets.before_fork(lock);
    open.before_fork([](OpenSet& one) { one.before_fork(); });
    views.before_fork(lock);
  }
  void after_fork(bool in_child) {
    const auto unlock = [](SetMutex& one) { one.unlock(); };
    views.after_fork(unlock);
    open.after_fork([&](OpenSet& one) { one.after_fork(in_child); });
    sets.after_fork(unlock);
  }
};

// Holds the registered sets. Constant-initialized and never destroyed, because programs may fork before or
// after the lifetime of static objects.
union RegisteredSets {
  constexpr RegisteredSets() : all() {}
  ~RegisteredSets() {}
  Everybody all;
};
constinit RegisteredSets kept;

Everybody& everybody() {
  static const int registered = pthread_atfork(
      [] { kept.all.before_fork(); }, [] { kept.all.after_fork(false); }, [] { kept.all.after_fork(true); });
  static_cast<void>(registered);
  return kept.all;
}

}  // namespace

void ContainerSet::watch_forks() { everybody(); }

SetMutex::SetMutex(Of what) : what_(what) { everybody().of(what_).note(this); }
SetMutex::~SetMutex() { kept.all.of(what_).forget(this); }

void note_set(OpenSet* set) { everybody().open.note(set); }
void forget_set(OpenSet* set) { kept.all.open.forget(set); }

OpenSet::Opens::iterator OpenSet::note_open(SharedPlace at) {
  const std::lock_guard guard(opens_mutex_);
  return opens_.insert(opens_.end(), at);
}

void OpenSet::note_close(Opens::iterator at) {
  const std::lock_guard guard(opens_mutex_);
  opens_.erase(at);
}

// Counts each open stream once more for the child, so that the stream stays open if the parent closes it.
void OpenSet::before_fork() {
  {
    const SharedStreams::NamesLock lock(*streams_);
    opens_mutex_.lock();  // after the lock of names, as when a stream is opened
    for (const SharedPlace at : opens_) streams_->open(at);
  }
  memory_->before_fork();
  writer_->before_fork();
}

void OpenSet::after_fork(bool in_child) {
  writer_->after_fork(in_child);
  if (in_child) memory_->in_child();
  opens_mutex_.unlock();
}

}  // namespace sheaf::streams
