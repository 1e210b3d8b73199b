// Explores all interleavings of a few tasks. A step is a function of a copyable state. Tasks are woken by
// steps of other tasks and never by time, so a lost wake-up is a deadlock.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

namespace sheaf::test {

// Model of a word of shared memory, accessed by one task at a time.
struct ModelWord {
  uint32_t value = 0;
  uint32_t load() const { return value; }
  void store(uint32_t next) { value = next; }
  uint32_t fetch_add(uint32_t more) { return std::exchange(value, value + more); }
  bool compare_exchange_strong(uint32_t& expected, uint32_t next) {
    if (value == expected) {
      value = next;
      return true;
    }
    expected = value;
    return false;
  }
};

// Explores all reachable states and returns their number. Stops at the first invalid state. State must be
// trivially copyable, and all its bytes must be defined. Its members can_go(task), has_left(task) and text()
// describe it; step(task) and at_end() return an error text, or "" on success.
template <class State>
size_t explore(const State& first, int tasks, size_t most = 20'000'000) {
  static_assert(std::is_trivially_copyable_v<State>);
  const auto key =
      [](const State& state) {  // a hash; two of millions of states collide in one of a million runs
        return std::hash<std::string_view>{}({reinterpret_cast<const char*>(&state), sizeof state});
      };
  std::unordered_set<size_t> seen{key(first)};
  std::vector<State> open{first};
  while (!open.empty()) {
    const State state = open.back();
    open.pop_back();
    bool goes = false, left = true;
    for (int task = 0; task < tasks; ++task) {
      left = left && state.has_left(task);
      if (!state.can_go(task)) continue;
      goes = true;
      State next;
      std::memcpy(static_cast<void*>(&next), &state, sizeof state);
      if (const std::string wrong = next.step(task); !wrong.empty()) {
        ADD_FAILURE() << wrong << ", by task " << task << " after " << seen.size() << " states";
        return seen.size();
      }
      if (seen.insert(key(next)).second) open.push_back(next);
    }
    if (!goes && !left) {
      ADD_FAILURE() << "all sleep for ever, after " << seen.size() << " states" << state.text();
      return seen.size();
    }
    if (!goes && left)
      if (const std::string wrong = state.at_end(); !wrong.empty()) {
        ADD_FAILURE() << wrong;
        return seen.size();
      }
    if (seen.size() > most) {
      ADD_FAILURE() << "too many states";
      break;
    }
  }
  return seen.size();
}

}  // namespace sheaf::test
