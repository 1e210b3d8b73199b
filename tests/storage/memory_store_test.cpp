// Features of the memory store alone: sparse pages, snapshots and a selectable block size.
#include "support/stores/memory_store.hpp"

#include "testing.hpp"

namespace sheaf::testing::memory_store_test {
namespace {

TEST(MemoryStoreTest, ByteAtAHugeOffsetTakesOnePage) {
  MemoryStore store(4096, 512);
  const auto file = store.open("a", Access::fresh);
  file->write_at(bytes("x"), int64_t{1} << 40);
  file->write_at(bytes("y"), INT64_MAX - 1);
  EXPECT_EQ(store.allocated(), 2 * 512);
  EXPECT_EQ(file->status().size, INT64_MAX);
  EXPECT_EQ(read_text(*file, INT64_MAX - 1, 1), "y");
}

TEST(MemoryStoreTest, NextDataWorksByPage) {
  MemoryStore store(4096, 512);
  const auto file = store.open("a", Access::fresh);
  file->write_at(bytes("x"), 5 * 512 + 7);
  file->resize(9 * 512);
  EXPECT_EQ(file->next(Space::data, 0), 5 * 512);
  EXPECT_EQ(file->next(Space::data, 5 * 512 + 100), 5 * 512 + 100);
  EXPECT_EQ(file->next(Space::data, 6 * 512), 9 * 512);
  EXPECT_EQ(file->next(Space::hole, 7), 7);
  EXPECT_EQ(file->next(Space::hole, 5 * 512 + 100), 6 * 512);
  file->write_at(bytes("x"), 9 * 512 - 1);
  EXPECT_EQ(file->next(Space::hole, 8 * 512), 9 * 512);
  EXPECT_EQ(file->status().allocated, 2 * 512);
  file->resize(9 * 512 - 100);
  EXPECT_EQ(file->next(Space::hole, 8 * 512), 9 * 512 - 100) << "no hole begins beyond the end";
}

TEST(MemoryStoreTest, CutPagesAreReleasedAndReadAsZeroAfterGrowth) {
  MemoryStore store(4096, 512);
  const auto file = store.open("a", Access::fresh);
  file->write_at(pattern(4 * 512), 0);
  file->resize(512);
  EXPECT_EQ(store.allocated(), 512);
  file->resize(100);
  file->resize(4 * 512);
  EXPECT_EQ(read_text(*file, 100, 4 * 512), std::string(4 * 512 - 100, '\0'));
  EXPECT_EQ(read_text(*file, 0, 100), text(pattern(100)));
}

TEST(MemoryStoreTest, SnapshotsAndFixtures) {
  MemoryStore store(1 << 20);
  store.set_contents("b", bytes("longer"));
  store.set_contents("b", bytes("abc"));
  store.set_contents("a", bytes(""));
  EXPECT_EQ(text(store.contents("b")), "abc");
  EXPECT_EQ(store.paths(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(store.status("a").block_size, 1 << 20);
  EXPECT_EQ(error_of([&] { store.contents("c"); }).code(), Code::not_found);
}

TEST(MemoryStoreTest, RenameToItselfKeepsTheFile) {
  MemoryStore store;
  store.set_contents("a", bytes("abc"));
  store.rename("a", "a");
  EXPECT_EQ(text(store.contents("a")), "abc");
}

}  // namespace
}  // namespace sheaf::testing::memory_store_test
