// The assertions of formats and codecs.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "format/codec/codec.hpp"
#include "format/codec/frame_queue.hpp"
#include "format/codec/shuffle.hpp"
#include "format/frame.hpp"
#include "format/header.hpp"
#include "format/journal.hpp"
#include "support/assertions.hpp"

namespace sheaf::test::format_assertions_test {
namespace {

const codec::Compression uncompressed{.frame = 1024, .threads = 0};

TEST(Assertions, OfFrameQueues) {
  codec::Compression automatic = uncompressed;
  automatic.threads = codec::Compression::automatic_threads;
  EXPECT_ASSERTION(codec::FrameQueue{automatic}, "how.threads >= 0");
  const std::vector<std::byte> long_piece(1025);
  codec::FrameQueue queue(uncompressed);
  EXPECT_ASSERTION(queue.push({}, long_piece), "plain.size");
  EXPECT_ASSERTION(queue.pop(), "empty");
  EXPECT_ASSERTION(codec::with_threads(uncompressed, 0), "tasks > 0");
}

TEST(Assertions, OfCodecs) {
  std::array<std::byte, 64> bytes{};
  const auto all = std::span(bytes);
  EXPECT_ASSERTION(codec::shuffle(all.first(8), 0, all.last(8)), "element > 0");
  EXPECT_ASSERTION(codec::shuffle(all.first(8), 2, all.subspan(4, 8)), "less_equal");
  codec::Compressor compressor(codec::methods()[0]->codec, 1);
  EXPECT_ASSERTION(compressor.compress(all, all), "out.size");
}

TEST(Assertions, OfFrames) {
  format::FrameTable table;
  ASSERT_TRUE(table.add({.plain = 10}, 0));
  EXPECT_EQ(table.find({0, 9}), 0u);
  EXPECT_ASSERTION(table.find({0, 10}), "at < end");
  EXPECT_ASSERTION(table.find({1, 0}), "at < end");
  EXPECT_ASSERTION(table.forget_first(2), "count <= frames");
  const auto index = table.encode_index(100);
  ASSERT_TRUE(index);
  const auto head = std::span(*index).first<format::frame_head_size>();
  format::IndexDecoder decoder(head, 100);
  std::vector<format::Frame> frames;
  EXPECT_ASSERTION(decoder.add(std::span(*index).first(3), frames), "index_entry_size");
}

TEST(Assertions, OfHeadersAndJournals) {
  const std::array<int64_t, 2> numbers{};
  std::array<std::byte, 15> bytes{};
  EXPECT_ASSERTION(format::encode(std::span<const int64_t>(numbers), native_order, bytes), "to.size");
  EXPECT_ASSERTION(format::encode(format::JournalRecord(), 0, -1), "slot >= 0");
}

}  // namespace
}  // namespace sheaf::test::format_assertions_test
