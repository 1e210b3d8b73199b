// on_threads: runs a body on the members of a team of threads, and passes on their exceptions.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "comm/threads/thread_comm.hpp"

namespace sheaf::test {

// Calls body(rank) on `count` threads. Returns the exception of each thread, or null if it returned normally.
inline std::vector<std::exception_ptr> outcomes_on_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::exception_ptr> outcomes(static_cast<size_t>(count));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (...) {
        outcomes[static_cast<size_t>(rank)] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

// Calls body(rank) on `count` threads and rethrows the first exception.
inline void on_threads(int count, const std::function<void(int)>& body) {
  for (const std::exception_ptr& outcome : outcomes_on_threads(count, body))
    if (outcome) std::rethrow_exception(outcome);
}

// Calls body(comm) on a new team of `count` threads.
inline void on_team(int count, const std::function<void(Comm&)>& body) {
  const auto team = make_thread_team(count);
  on_threads(count, [&](int rank) { body(*thread_comm(team, rank)); });
}

}  // namespace sheaf::test
