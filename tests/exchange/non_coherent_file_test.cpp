// Tests which calls NonCoherentFile makes on its inner file.
#include "exchange/transfer/non_coherent_file.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "comm/agree.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::exchange::non_coherent_file_test {
namespace {

// A file without cache control must publish written bytes by a sync in the close, and report if the sync
// fails.
TEST(NonCoherentFile, PublishesWhatItWroteWhenItIsClosedAndTellsIfThatFails) {
  MemoryStore memory;
  memory.open("file", Access::fresh);
  FaultyStore store(memory);
  const std::vector<std::byte> bytes(100);
  const VisibilityPolicy policy{{.kind = FileSystem::nfs, .locks = LockScope::global}, 2};
  for (const bool writes : {false, true})
    for (const bool fails : {false, true}) {
      FaultPlan plan;
      plan.fail_at = fails ? 0 : -1;
      plan.kind = StoreOperation::sync;
      store.set_plan(plan);
      const int64_t synced = store.operations(StoreOperation::sync),
                    closed = store.operations(StoreOperation::close);
      NonCoherentFile file(store.open("file", Access::write), policy);
      if (writes) file.write_at(bytes, 0);
      EXPECT_EQ(attempt([&] { file.close(); }).has_value(), writes && fails);
      EXPECT_EQ(store.operations(StoreOperation::sync) - synced, writes);
      EXPECT_EQ(store.operations(StoreOperation::close) - closed, 1);
    }
}

}  // namespace
}  // namespace sheaf::exchange::non_coherent_file_test
