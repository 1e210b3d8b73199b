// Small reads at increasing offsets, served from larger ones. The caller must observe the same bytes, with
// few requests.
#include "storage/decorators/nearby_reads.hpp"

#include <random>
#include <thread>

#include "support/counting_store.hpp"
#include "support/stores/memory_store.hpp"
#include "testing.hpp"

namespace sheaf::testing::nearby_reads_test {
namespace {

class NearbyReadsTest : public ::testing::Test {
 protected:
  static constexpr size_t size = 3'000'017;

  NearbyReadsTest() { memory_.open("a", Access::fresh)->write_at(content_, 0); }

  std::shared_ptr<File> open() { return reads_->over(counted_.open("a", Access::read)); }
  int requests() const { return count_.writes; }
  void expect_same(File& file, int64_t offset, size_t length) {
    Bytes found(length);
    found.resize(file.read_at(found, offset));
    const auto begin = std::min(static_cast<size_t>(offset), size);
    const auto expected = std::span(content_).subspan(begin, std::min(length, size - begin));
    ASSERT_TRUE(std::ranges::equal(found, expected)) << length << " bytes at " << offset;
  }

  const Bytes content_ = pattern(size);
  MemoryStore memory_;
  test::WritersAtWork count_;
  test::CountingStore counted_{memory_, count_, 0, true};
  std::shared_ptr<NearbyReads> reads_ = std::make_shared<NearbyReads>();
};

TEST_F(NearbyReadsTest, ConsecutiveReadsTakeFewRequests) {
  const auto file = open();
  // Each stream has its data, 700 bytes of every 1000, and its checksum at another place.
  for (int64_t stream = 0; stream < 2000; ++stream) {
    expect_same(*file, stream * 1000, 700);
    expect_same(*file, 2'500'000 + stream * 4, 4);
  }
  EXPECT_LE(requests(), 10);
}

TEST_F(NearbyReadsTest, OtherReadsReachTheFileUnchanged) {
  const auto file = open();
  int made = 0;
  for (int64_t offset = 2'900'000; offset > 0; offset -= 100'000, ++made) expect_same(*file, offset, 100);
  for (int64_t offset = 0; offset < 2'000'000; offset += 200'000, ++made) expect_same(*file, offset, 100'000);
  EXPECT_EQ(requests(), made);
}

TEST_F(NearbyReadsTest, AnyPlaceUpToTheEnd) {
  const auto file = open();
  std::mt19937 draw(7);
  for (int64_t offset = 0; offset < static_cast<int64_t>(size) + 1000; offset += draw() % 3000) {
    expect_same(*file, offset, draw() % 5000);
    if (draw() % 10 == 0) expect_same(*file, draw() % size, draw() % 80'000);
  }
}

TEST_F(NearbyReadsTest, RevalidateDiscardsWhatWasReadAhead) {
  const auto file = open();
  for (int64_t offset : {0, 100, 200}) expect_same(*file, offset, 100);
  memory_.open("a", Access::write)->write_at(bytes("new"), 300);
  file->revalidate();
  EXPECT_EQ(read_text(*file, 300, 3), "new");
}

TEST_F(NearbyReadsTest, FilesDoNotMix) {
  memory_.open("b", Access::fresh)->write_at(bytes("bbbbbbbbbb"), 0);
  const auto file = open();
  for (int round = 0; round < 3; ++round) {
    const auto other = reads_->over(counted_.open("b", Access::read));
    for (int64_t offset = 0; offset < 10; offset += 2) {
      EXPECT_EQ(read_text(*other, offset, 2), "bb");
      expect_same(*file, offset, 2);
    }
  }
}

TEST_F(NearbyReadsTest, SeveralThreads) {
  const auto file = open();
  std::vector<std::thread> threads;
  for (int64_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int64_t offset = thread * 500'000; offset < (thread + 2) * 500'000; offset += 800)
        expect_same(*file, offset, 500);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace sheaf::testing::nearby_reads_test
