#include "base/os/term_signal.hpp"

#include <semaphore.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <system_error>

#include "base/error.hpp"
#include "base/os/deadline.hpp"
#include "base/service_thread.hpp"

namespace sheaf {

namespace {

// State of one process; a forked child that calls catch_term() creates its own. Never destroyed, because a
// signal may arrive at any time.
struct Catcher {
  explicit Catcher(const TermAction& a) : action(a) { sem_init(&wake, 0, 0); }
  void serve();

  const TermAction action;
  const pid_t process = ::getpid();
  sem_t wake;
  std::mutex mutex;  // guards `caught` and `before`, which the handler reads only while `caught`
  bool caught = false;
  struct sigaction before {};
  std::atomic<int> to_send{0};     // signals not yet passed on to the program
  std::atomic<int64_t> first{0};   // second in which the first such signal arrived; 0: none
  std::atomic<uint64_t> asked{0};  // requests of handlers that wait
  std::atomic<uint64_t> answered{0};
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<Catcher*>::is_always_lock_free);

std::atomic<Catcher*> current{nullptr};

int64_t seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + 1;
}

void handle(int signal, siginfo_t* info, void* context);

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == handle;
}

bool ours_is_set() {
  struct sigaction now {};
  return ::sigaction(SIGTERM, nullptr, &now) == 0 && is_ours(now);
}

// Sends the signal again, after restoring the program's action if ours is still installed.
void obey(const struct sigaction& before) {
  if (ours_is_set()) ::sigaction(SIGTERM, &before, nullptr);
  ::kill(::getpid(), SIGTERM);
}

// Runs when the program's later handler has called ours as its predecessor. Calls the handler that ours
// replaced.
void pass_on(const struct sigaction& before, int signal, siginfo_t* info, void* context) {
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  }
}

void wait_for(const Catcher& c, uint64_t request) {
  const Deadline deadline(term_timeout);
  const timespec delay{0, 1'000'000};
  while (c.answered.load() < request && !deadline.expired()) ::nanosleep(&delay, nullptr);
}

void handle(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  Catcher& c = *current.load();
  if (!ours_is_set()) {
    if (c.process == ::getpid()) {
      const uint64_t request = ++c.asked;
      ::sem_post(&c.wake);
      if (!c.action.in_the_way()) wait_for(c, request);
    }
    pass_on(c.before, signal, info, context);
  } else if (c.process != ::getpid()) {
    obey(c.before);
  } else {
    const int64_t now = seconds();
    int64_t first = 0;
    if (!c.first.compare_exchange_strong(first, now) && now - first > term_timeout.count()) {
      obey(c.before);
    } else {
      ++c.to_send;
      ::sem_post(&c.wake);
    }
  }
  errno = error;
}

void Catcher::serve() {
  for (;;) {
    while (::sem_wait(&wake) != 0) {
    }
    const uint64_t requests = asked.load();
    const bool send = to_send.exchange(0) > 0;
    action.act();
    answered.store(requests);
    if (send) {
      const std::lock_guard lock(mutex);
      caught = false;
      first.store(0);
      obey(before);
    }
    action.after();
  }
}

}  // namespace

void catch_term(const TermAction& action) {
  static std::mutex one_at_a_time;
  const std::lock_guard making(one_at_a_time);
  Catcher* c = current.load();
  if (!c || c->process != ::getpid()) {
    auto* const own = new Catcher(action);
    if (c) own->before = c->before;
    try {
      service_thread([own] { own->serve(); }).detach();
    } catch (const std::system_error& e) {
      delete own;
      throw Error(Code::io, "cannot start the thread that term=flush needs", e.code().value());
    }
    if (c) own->caught = ours_is_set();  // inherited from the parent
    current.store(own);
    c = own;
  }
  const std::lock_guard lock(c->mutex);
  if (c->caught) return;
  struct sigaction now {};
  ::sigaction(SIGTERM, nullptr, &now);
  const bool ignored = (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN;
  c->caught = is_ours(now);
  if (c->caught || ignored) return;
  c->before = now;
  struct sigaction ours {};
  ours.sa_sigaction = handle;
  ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  c->caught = ::sigaction(SIGTERM, &ours, nullptr) == 0;
}

void release_term() {
  Catcher* const c = current.load();
  if (!c || c->process != ::getpid()) return;
  const std::lock_guard lock(c->mutex);
  if (c->caught && ours_is_set()) {
    ::sigaction(SIGTERM, &c->before, nullptr);
    c->caught = false;
  }
}

}  // namespace sheaf
