// The assertions of storage.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>

#include "storage/posix/range_locks.hpp"
#include "storage/store.hpp"
#include "storage/write_slots.hpp"
#include "support/assertions.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::test::storage_assertions_test {
namespace {

TEST(Assertions, OfLocks) {
  RangeLocks locks;
  EXPECT_ASSERTION(static_cast<void>(locks.lock(0, 0, true, {})), "length > 0");
  ASSERT_TRUE(locks.lock(0, 10, true, {}));
  EXPECT_ASSERTION(locks.unlock(0, 5), "held_.end");
  EXPECT_ASSERTION(lock_timeout(1, -1), "length >= 0");
}

TEST(Assertions, OfSlots) {
  EXPECT_ASSERTION(make_memory_slots(0), "count > 0");
  EXPECT_ASSERTION(make_locked_slots(0), "count > 0");
}

TEST(Assertions, OfTransfers) {
  const std::string path = testing::TempDir() + "assertions_test." + std::to_string(getpid());
  const auto file = posix_store().open(path, Access::create);
  posix_store().remove(path);
  const std::array<std::byte, 4> bytes{};
  const std::array<Piece<const std::byte>, 2> overlapping{{{0, bytes}, {3, bytes}}};
  EXPECT_DEBUG_ASSERTION(file->write_pieces(overlapping), "one.end");
}

TEST(Assertions, OfMappings) {
  MemoryStore store;
  const auto file = store.open("a", Access::create);
  EXPECT_ASSERTION(map_range(*file, 1, 1), "offset %");
}

}  // namespace
}  // namespace sheaf::test::storage_assertions_test
