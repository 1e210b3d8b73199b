// Tests memory that the tasks of a group share.
#include "comm/shared_memory.hpp"

#include <gtest/gtest.h>

#include "comm/on_threads.hpp"
#include "support/fibers/fiber_comm.hpp"

namespace sheaf::shared_memory_test {
namespace {

void expect_shared(Comm& comm) {
  const auto memory = comm.share_memory(10000);
  ASSERT_TRUE(memory);
  ASSERT_GE(memory->bytes().size(), 10000u);
  auto& sum = *reinterpret_cast<SharedWord*>(memory->bytes().data());
  if (comm.rank() == 0) sum.store(0);
  comm.barrier();
  sum.fetch_add(1);
  for (uint32_t now = sum.load(); now != static_cast<uint32_t>(comm.size()); now = sum.load())
    memory->wait(sum, now);
  memory->wake(sum);
  comm.barrier();
}

TEST(SharedMemory, IsSeenByAllTasks) {
  expect_shared(*self_comm());
  test::on_team(5, expect_shared);
  run_fibers({.ranks = 7, .stack_bytes = 64 << 10, .ranks_per_node = 7}, expect_shared);
}

TEST(SharedMemory, IsRefusedAcrossNodes) {
  run_fibers({.ranks = 4, .stack_bytes = 64 << 10, .ranks_per_node = 2}, [](Comm& comm) {
    EXPECT_FALSE(comm.share_memory(100));
    expect_shared(*comm.split_by_node());
  });
}

}  // namespace
}  // namespace sheaf::shared_memory_test
