#include "exchange/pieces/access_list.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::exchange::access_list_test {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* const data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

struct CountedMemoryFile {
  MemoryStore memory;
  FaultyStore counting{memory};
  std::shared_ptr<File> file = counting.open("a", sheaf::Access::create);

  std::string text() {
    const auto found = memory.contents("a");
    return {reinterpret_cast<const char*>(found.data()), found.size()};
  }
  int64_t writes() { return counting.operations(StoreOperation::write); }
  int64_t reads() { return counting.operations(StoreOperation::read); }
};

TEST(AccessList, NeighboursAreWrittenTogether) {
  CountedMemoryFile f;
  const auto a = bytes_of("abc"), b = bytes_of("def"), c = bytes_of("xy");
  write_pieces(*f.file, {{3, b}, {10, c}, {0, a}});
  EXPECT_EQ(f.text(), std::string("abcdef\0\0\0\0xy", 12));
  EXPECT_EQ(f.writes(), 2);
  write_pieces(*f.file, {});
  EXPECT_EQ(f.writes(), 2);
}

TEST(AccessList, LaterPiecesWinWhereTheyOverlap) {
  CountedMemoryFile f;
  const auto a = bytes_of("aaaa"), b = bytes_of("bb"), c = bytes_of("c");
  write_pieces(*f.file, {{2, a}, {1, b}, {0, c}, {5, c}});
  EXPECT_EQ(f.text(), "cbbaac");
}

TEST(AccessList, ReadsOverSmallGapsOnly) {
  CountedMemoryFile f;
  f.file->write_at(bytes_of("abcdefghijklmnopqrst"), 0);
  std::vector<std::byte> a(2), b(3), c(2), d(1);
  read_pieces(*f.file, {{12, c}, {0, a}, {4, b}, {5, d}}, 2);
  EXPECT_EQ(a, bytes_of("ab"));
  EXPECT_EQ(b, bytes_of("efg"));
  EXPECT_EQ(c, bytes_of("mn"));
  EXPECT_EQ(d, bytes_of("f"));
  EXPECT_EQ(f.reads(), 2);
}

TEST(AccessList, AFileThatEndsInsideAPieceIsDamaged) {
  CountedMemoryFile f;
  f.file->write_at(bytes_of("abc"), 0);
  std::vector<std::byte> a(2), b(3);
  EXPECT_THROW(read_pieces(*f.file, {{0, a}, {2, b}}, 10), Error);
  EXPECT_THROW(read_pieces(*f.file, {{2, b}}, 10), Error);
}

}  // namespace
}  // namespace sheaf::exchange::access_list_test
