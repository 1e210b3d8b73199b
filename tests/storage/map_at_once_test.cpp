// Resident pages must be mapped without one fault per page, and keep their bytes.
#include "base/os/map_at_once.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>

#include "base/os/lent_memory.hpp"

namespace sheaf {
namespace {

constexpr size_t page = 4096, pages = 512;

bool kernel_maps_at_once(std::span<std::byte> memory) {
  constexpr int populate_read = 22;
  return ::madvise(memory.data(), page, populate_read) == 0;
}

long faults() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_minflt;
}

TEST(MapAtOnce, SavesAFaultForEachPage) {
  const auto owner = LendableMemory::make(pages * page);
  std::memset(owner->bytes().data(), 5, pages * page);
  const auto there = BorrowedMemory::map(owner->lent().facts);
  ASSERT_TRUE(there);
  if (!kernel_maps_at_once(there->bytes())) GTEST_SKIP() << "kernels before 5.14 do not map at once";
  const long before = faults();
  map_at_once(there->bytes());
  for (size_t i = 0; i < pages; ++i) there->bytes()[i * page] = std::byte{7};
  EXPECT_LT(faults() - before, long{pages / 4});
  for (size_t i = 0; i < pages; ++i) {
    ASSERT_EQ(owner->bytes()[i * page], std::byte{7});
    ASSERT_EQ(owner->bytes()[i * page + 1], std::byte{5});
  }
}

// A hint that cannot be followed must change nothing, not even errno.
TEST(MapAtOnce, LeavesErrnoAlone) {
  errno = ENOENT;
  map_at_once({reinterpret_cast<std::byte*>(page), page});
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace sheaf
