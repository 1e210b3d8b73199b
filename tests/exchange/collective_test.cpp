// Calls of different kinds one behind the other: no task waits for the others at the end of all of them, and
// what tasks sum up for a call must not be lost to those who are still leaving the last one.
#include <gtest/gtest.h>

#include <vector>

#include "exchange/collective.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::exchange::collective_test {
namespace {

using layout::TypeMap;

constexpr int64_t large = 64 << 10;

TEST(Collective, SmallPiecesAfterLargeOnesInAnyOrderOfTasks) {
  constexpr int tasks = 5;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    MemoryStore store;
    store.open("a", sheaf::Access::fresh);
    run_fibers(
        {.ranks = tasks, .stack_bytes = 256 << 10, .seed = seed, .ranks_per_node = tasks}, [&](Comm& comm) {
          const auto file = store.open("a", sheaf::Access::write);
          Collective transfers(comm);
          Tally tally;
          std::vector<std::byte> data(static_cast<size_t>(large), static_cast<std::byte>(comm.rank() + 1));
          const TypeMap one = TypeMap::bytes(1);
          for (int i = 0; i < 6; ++i) {
            const int64_t base = i * (tasks + 1) * large;
            const Access own{base + comm.rank() * large, &one, 0, large, data.data(), &contiguous_bytes()};
            transfers.write(*file, own, {}, std::nullopt, tally);
            const Access few{
                base + tasks * large + comm.rank() * 10, &one, 0, 10, data.data(), &contiguous_bytes()};
            transfers.write(*file, comm.rank() == 0 ? Access{} : few, {}, std::nullopt, tally);
          }
        });
    const auto file = store.open("a", sheaf::Access::read);
    for (int i = 0; i < 6; ++i)
      for (int rank = 0; rank < tasks; ++rank) {
        const int64_t base = i * (tasks + 1) * large;
        std::byte bytes[3];
        ASSERT_EQ(file->read_at({bytes, 1}, base + rank * large), 1U);
        ASSERT_EQ(file->read_at({bytes + 1, 1}, base + (rank + 1) * large - 1), 1U);
        EXPECT_EQ(bytes[0], static_cast<std::byte>(rank + 1)) << "seed " << seed;
        EXPECT_EQ(bytes[1], bytes[0]) << "seed " << seed;
        if (rank == 0) continue;
        ASSERT_EQ(file->read_at({bytes + 2, 1}, base + tasks * large + rank * 10 + 9), 1U);
        EXPECT_EQ(bytes[2], bytes[0]) << "seed " << seed;
      }
  }
}

}  // namespace
}  // namespace sheaf::exchange::collective_test
