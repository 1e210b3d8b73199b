// All interleavings of few tasks, whose steps are functions of a state that can be copied: who sleeps is woken by what others do, never
// by time, so a wake-up that is lost is a deadlock.
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

// A word of shared memory as the real ones are used; one task at a time has access to it.
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

// State: trivially copyable, all bytes defined; can_go(task), has_left(task), text(), step(task) and at_end(), which return what is wrong, "" if nothing is.
// Returns the number of states that were seen; stops at the first that is wrong.
template <class State>
size_t explore(const State& first, int tasks, size_t most = 20'000'000) {
  static_assert(std::is_trivially_copyable_v<State>);
  const auto key = [](const State& state) {  // two states in millions are taken for one once in a million runs
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
