// The schedule of collective calls: which listener a task turns to in which step.
#include "stripedfile/flow.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace sheaf::sfio::flow_test {
namespace {

std::vector<int64_t> alike(int tasks, int listeners) {
  return std::vector<int64_t>(static_cast<size_t>(tasks * listeners), 100);
}

std::vector<Flow> flows(std::span<const int64_t> loads, int tasks, int listeners) {
  std::vector<Flow> all;
  for (int task = 0; task < tasks; ++task) all.push_back(flow_of(loads, listeners, task));
  return all;
}

// Fewest and most tasks that a listener has in any step, of those in which every task takes part.
std::pair<int, int> tasks_of_a_listener(const std::vector<Flow>& all, int listeners) {
  std::pair<int, int> bounds{INT32_MAX, 0};
  const auto width = static_cast<size_t>(all.front().width);
  size_t shortest = SIZE_MAX;
  for (const Flow& flow : all) shortest = std::min(shortest, flow.order.size());
  for (size_t step = 0; (step + 1) * width <= shortest; ++step) {
    std::vector<int> count(static_cast<size_t>(listeners));
    for (const Flow& flow : all)
      for (size_t i = step * width; i < (step + 1) * width; ++i) ++count[static_cast<size_t>(flow.order[i])];
    const auto [least, most] = std::ranges::minmax(count);
    bounds = {std::min(bounds.first, least), std::max(bounds.second, most)};
  }
  return bounds;
}

TEST(Flow, InEachStepAllListenersHaveAsManyTasks) {
  for (const auto& [tasks, listeners] : {std::pair{4, 4}, {12, 4}, {31, 31}, {3, 12}, {1, 5}}) {
    const auto all = flows(alike(tasks, listeners), tasks, listeners);
    const int even = std::max(1, tasks / listeners);
    EXPECT_EQ(tasks_of_a_listener(all, listeners), std::pair(even, even)) << tasks << " " << listeners;
    EXPECT_EQ(all.front().width, std::max(1, listeners / tasks));
    std::vector<Flow> round;
    for (int task = 0; task < tasks; ++task) round.push_back(turns(tasks, listeners, task));
    EXPECT_EQ(tasks_of_a_listener(round, listeners), std::pair(even, even)) << tasks << " " << listeners;
  }
}

TEST(Flow, WithNumbersThatDoNotDivideListenersDifferByOneTaskAtMost) {
  for (const auto& [tasks, listeners] : {std::pair{7, 3}, {10, 4}, {33, 8}}) {
    const auto [least, most] =
        tasks_of_a_listener(flows(alike(tasks, listeners), tasks, listeners), listeners);
    EXPECT_LE(most - least, 1) << tasks << " " << listeners;
  }
}

// Every listener for which a task has something is in its order once, and no other.
TEST(Flow, CarriesOutAllLoadsOnce) {
  std::mt19937 random(7);
  for (int round = 0; round < 100; ++round) {
    const int tasks = 1 + static_cast<int>(random() % 12);
    const int listeners = 1 + static_cast<int>(random() % 12);
    std::vector<int64_t> loads(static_cast<size_t>(tasks * listeners));
    for (int64_t& load : loads) load = random() % 3 == 0 ? 0 : random() % 1000;
    for (int task = 0; task < tasks; ++task) {
      const Flow flow = flow_of(loads, listeners, task);
      std::set<int> expected;
      for (int l = 0; l < listeners; ++l)
        if (loads[static_cast<size_t>(task * listeners + l)] > 0) expected.insert(l);
      EXPECT_EQ(std::set(flow.order.begin(), flow.order.end()), expected);
      EXPECT_EQ(flow.order.size(), expected.size());
      EXPECT_GE(flow.width, 1);
    }
  }
}

// Eight tasks have their data with three neighbouring listeners each; going round from the own number alone,
// in step 1 and 2 tasks would wait for what they have nothing for.
TEST(Flow, FindsEvenStepsAmongUnevenLoads) {
  constexpr int tasks = 8;
  constexpr int listeners = 8;
  std::vector<int64_t> loads(tasks * listeners);
  for (size_t task = 0; task < tasks; ++task)
    for (size_t i = 0; i < 3; ++i) loads[task * listeners + (3 * task + i) % listeners] = 100;
  const auto all = flows(loads, tasks, listeners);
  EXPECT_LE(tasks_of_a_listener(all, listeners).second, 2);
}

TEST(Flow, ListenersWithMostLeftComeFirst) {
  // Task 0 has something for both, task 1 for listener 1 alone, and much: task 0 begins there only if it is
  // free.
  const std::vector<int64_t> loads = {10, 10, 0, 1000};
  EXPECT_EQ(flow_of(loads, 2, 1).order, (std::vector{1}));
  EXPECT_EQ(flow_of(loads, 2, 0).order, (std::vector{0, 1}));
}

TEST(Flow, TasksWithoutData) {
  EXPECT_TRUE(flow_of(std::vector<int64_t>{0, 0, 5, 5}, 2, 0).order.empty());
  EXPECT_EQ(flow_of(std::vector<int64_t>{0, 0, 5, 5}, 2, 1).width, 2) << "the only one that has something";
  EXPECT_TRUE(flow_of({}, 0, 0).order.empty());
}

}  // namespace
}  // namespace sheaf::sfio::flow_test
