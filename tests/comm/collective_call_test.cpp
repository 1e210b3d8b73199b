#include "comm/collective_call.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "comm/threads/thread_comm.hpp"

namespace sheaf::collective_call_test {
namespace {

int without_memory() { throw std::bad_alloc(); }
int refused() { throw Error(Code::io, "out of memory", ENOMEM); }

// A job end that ends this process with code 7.
const JobEnd end{.now = [] { std::_Exit(7); }, .task = 3};

TEST(CollectiveCall, ReturnsResultsAndErrors) {
  EXPECT_EQ(collective_call(end, "call", [] { return 5; }), 5);
  EXPECT_THROW(collective_call(end, "call", refused), Error);
  EXPECT_THROW(collective_call({}, "call", without_memory), std::bad_alloc);
  EXPECT_THROW(call_of_one_process({}, "call", refused), Error);
}

TEST(CollectiveCallDeathTest, EndsTheJobWithoutMemory) {
  EXPECT_EXIT(collective_call(end, "sion_call", without_memory), testing::ExitedWithCode(7),
              "sheaf: sion_call: task 3 is out of memory in a collective call, so the job ends");
  EXPECT_EXIT(call_of_one_process(end, "call", refused), testing::ExitedWithCode(7), "task 3");
  EXPECT_EXIT(call_of_one_process(end, "call", without_memory), testing::ExitedWithCode(7), "task 3");
}

TEST(CollectiveCall, OnlyGroupsOfSeveralTasksEndTheJob) {
  EXPECT_EQ(self_comm()->job_end().now, nullptr);
  EXPECT_EQ(thread_comm(make_thread_team(1), 0)->job_end().now, nullptr);
  const JobEnd of_team = thread_comm(make_thread_team(2), 1)->job_end();
  EXPECT_NE(of_team.now, nullptr);
  EXPECT_EQ(of_team.task, 1);
}

}  // namespace
}  // namespace sheaf::collective_call_test
