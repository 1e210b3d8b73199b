// Tests heads, tables and indexes of frames.
#include "format/frame.hpp"

#include <gtest/gtest.h>

#include "support/frame_index.hpp"

namespace sheaf::format::frame_test {
namespace {

FrameHead head_at(int32_t block, int64_t offset, uint32_t plain, uint32_t stored) {
  FrameHead h;
  h.codec = Codec{1};
  h.shuffle = 8;
  h.stored = stored;
  h.plain = plain;
  h.sum = 0x12345678;
  h.at = {block, offset};
  return h;
}

// A stored stream that consists of heads only.
struct FrameStream {
  FrameTable table;
  int64_t size = 0;
  bool add(int32_t block, int64_t offset, uint32_t plain) {
    const FrameHead h = head_at(block, offset, plain, plain / 2);
    const bool added = table.add(h, size);
    size += h.size();
    return added;
  }
};

using Sizes = std::vector<int64_t>;

TEST(FrameHead, ComesBackAsItWas) {
  const FrameHead h = head_at(7, int64_t{1} << 40, 1000, 900);
  EXPECT_EQ(decode_frame(encode(h)), h);
}

TEST(FrameHead, NoFlippedBitIsTakenForOne) {
  const auto bytes = encode(head_at(7, 12345, 1000, 900));
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    auto flipped = bytes;
    flipped[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_FALSE(decode_frame(flipped)) << "bit " << bit;
  }
}

TEST(FrameHead, SizesThatCannotBeAreRefused) {
  EXPECT_FALSE(decode_frame(encode(head_at(0, 0, largest_frame + 1, 10))));
  EXPECT_FALSE(decode_frame(encode(head_at(0, 0, 100, 101))));
  EXPECT_FALSE(decode_frame(encode(head_at(0, -1, 100, 100))));
  EXPECT_FALSE(decode_frame(encode(head_at(-1, 0, 100, 100))));
  EXPECT_FALSE(decode_frame(encode(head_at(0, INT64_MAX - 5, 100, 100))));
  FrameHead plain = head_at(0, 0, 100, 99);
  plain.codec = Codec::none;
  EXPECT_FALSE(decode_frame(encode(plain)));
}

TEST(FrameTable, OfNothingHasOneEmptyBlock) {
  EXPECT_EQ(FrameTable().block_sizes(), Sizes{0});
  EXPECT_EQ(FrameTable().end(), PlainPlace());
}

TEST(FrameTable, FramesFollowEachOtherOrBeginTheNextBlock) {
  FrameStream s;
  EXPECT_TRUE(s.add(0, 0, 100));
  EXPECT_TRUE(s.add(0, 100, 50));
  EXPECT_TRUE(s.add(1, 0, 0));
  EXPECT_TRUE(s.add(2, 0, 70));
  EXPECT_EQ(s.table.block_sizes(), (Sizes{150, 0, 70}));
  EXPECT_EQ(s.table.end(), (PlainPlace{2, 70}));
  EXPECT_EQ(s.table.find({0, 99}), 0u);
  EXPECT_EQ(s.table.find({0, 100}), 1u);
  EXPECT_EQ(s.table.find({2, 0}), 3u);
  for (const auto& [block, offset] : {PlainPlace{2, 71}, {4, 0}, {3, 1}, {1, 5}}) {
    FrameStream copy = s;
    EXPECT_FALSE(copy.add(block, offset, 10)) << block << " " << offset;
  }
}

TEST(FrameTable, AFrameThatBeginsEarlierReplacesWhatWasThere) {
  FrameStream s;
  s.add(0, 0, 100);
  s.add(0, 100, 50);
  s.add(1, 0, 70);
  EXPECT_TRUE(s.add(0, 120, 5));
  EXPECT_EQ(s.table.block_sizes(), Sizes{125});
  EXPECT_EQ(s.table.frames()[1].used, 20u);
  EXPECT_EQ(s.table.find({0, 119}), 1u);
  EXPECT_EQ(s.table.find({0, 120}), 2u);
  EXPECT_TRUE(s.add(0, 0, 3));
  EXPECT_EQ(s.table.block_sizes(), Sizes{3});
}

TEST(FrameIndex, ComesBackAsItWas) {
  FrameStream s;
  for (int i = 0; i < 100; ++i) s.add(i / 10, i % 10 * 1000, 1000);
  const auto bytes = s.table.encode_index(s.size);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(decode_index_end(std::span(*bytes).last<index_end_size>(), s.size + std::ssize(*bytes)), s.size);
  const auto table = decode_index(*bytes, s.size);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->frames(), s.table.frames());
}

TEST(FrameIndex, NoFlippedBitIsTakenForOne) {
  FrameStream s;
  for (int i = 0; i < 3; ++i) s.add(0, i * 1000, 1000);
  const auto bytes = *s.table.encode_index(s.size);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    auto flipped = bytes;
    flipped[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_FALSE(decode_index(flipped, s.size)) << "bit " << bit;
  }
}

TEST(FrameIndex, FramesBehindItselfAreRefused) {
  FrameStream s;
  s.add(0, 0, 1000);
  const auto bytes = *s.table.encode_index(s.size);
  EXPECT_FALSE(decode_index(bytes, s.size - 1));
  EXPECT_FALSE(decode_index_end(std::span(bytes).last<index_end_size>(), s.size + index_end_size));
}

}  // namespace
}  // namespace sheaf::format::frame_test
