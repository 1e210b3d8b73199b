// Tests which transfers the visibility policy of a file requires.
#include "storage/visibility.hpp"

#include <gtest/gtest.h>

#include "support/stores/faulty_store.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::visibility_test {
namespace {

TEST(VisibilityPolicy, PublishesOnlyIfTasksHaveDifferentCaches) {
  MemoryStore memory;
  FaultyStore store(memory);
  const auto file = store.open("file", Access::fresh);
  for (const Coherence coherence : {Coherence::local, Coherence::coherent, Coherence::close_to_open})
    for (const int hosts : {1, 2}) {
      const VisibilityPolicy policy{{.coherence = coherence, .unit = 4096}, hosts};
      const bool apart = coherence == Coherence::close_to_open && hosts > 1;
      EXPECT_EQ(policy.has_own_caches(), apart);
      EXPECT_EQ(policy.unit_per_host(), apart ? 4096 : 0);
      const int64_t before = store.operations(StoreOperation::sync);
      policy.publish(*file);
      EXPECT_EQ(store.operations(StoreOperation::sync) - before, apart);
    }
}

TEST(VisibilityPolicy, SievesWritesOnlyUnderLocksThatExcludeAllTasksOfOneCache) {
  const auto sieves = [](Coherence coherence, LockScope locks, int hosts) {
    return VisibilityPolicy{{.coherence = coherence, .locks = locks}, hosts}.may_sieve_writes();
  };
  EXPECT_TRUE(sieves(Coherence::local, LockScope::none, 1));
  EXPECT_TRUE(sieves(Coherence::coherent, LockScope::global, 2));
  EXPECT_FALSE(sieves(Coherence::coherent, LockScope::host, 2));
  for (const LockScope locks : {LockScope::none, LockScope::host, LockScope::global})
    for (const int hosts : {1, 2}) EXPECT_FALSE(sieves(Coherence::close_to_open, locks, hosts));
}

TEST(VisibilityPolicy, ReadsOwnWritesFromTheCacheOnlyWhereThatIsKnownToWork) {
  const auto keeps = [](FileSystem kind) { return VisibilityPolicy{{.kind = kind}, 2}.keeps_own_writes(); };
  EXPECT_TRUE(keeps(FileSystem::nfs));
  EXPECT_FALSE(keeps(FileSystem::moosefs));
  EXPECT_FALSE(keeps(FileSystem::unknown));
}

}  // namespace
}  // namespace sheaf::visibility_test
