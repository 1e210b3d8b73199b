// Checksums that a file computes while it captures bytes: those of the bytes, or none.
#include <random>

#include "base/crc32c.hpp"
#include "storage/background/background_store.hpp"
#include "support/stores/memory_store.hpp"
#include "testing.hpp"

namespace sheaf::testing::captured_sums_test {
namespace {

constexpr uint32_t piece = 1000;

std::vector<uint32_t> sums_of(std::span<const std::byte> data) {
  std::vector<uint32_t> sums;
  for (; !data.empty(); data = data.subspan(std::min<size_t>(piece, data.size())))
    sums.push_back(crc32c(0, data.first(std::min<size_t>(piece, data.size()))));
  return sums;
}

class CapturedSumsTest : public ::testing::TestWithParam<BackgroundWriter::ServedBy> {
 protected:
  MemoryStore memory_;
  BackgroundWriter writer_{GetParam()};
  std::shared_ptr<WriteBatch> batch_ = std::make_shared<WriteBatch>(std::make_shared<CaptureBudget>(1 << 30));
  BackgroundStore store_{{std::shared_ptr<Store>(), &memory_}, writer_, batch_};
  std::shared_ptr<File> file_ = store_.open("a", Access::fresh);

  // Requires the checksums of `data` from `origin`.
  void expect(int64_t origin, const Bytes& data) {
    std::vector<uint32_t> found(sums_of(data).size(), 1);
    ASSERT_TRUE(file_->take_sums(origin, std::ssize(data), found));
    EXPECT_EQ(found, sums_of(data));
  }
  bool has_none(int64_t origin, int64_t bytes) {
    std::vector<uint32_t> found(100, 1);
    return !file_->take_sums(origin, bytes, found);
  }
};
INSTANTIATE_TEST_SUITE_P(Served, CapturedSumsTest,
                         ::testing::Values(BackgroundWriter::ServedBy::thread,
                                           BackgroundWriter::ServedBy::callers));

TEST_P(CapturedSumsTest, OfBytesInOrder) {
  std::mt19937 random(1);
  int64_t origin = 77;
  for (int block = 0; block < 20; ++block) {
    ASSERT_TRUE(file_->begin_sums(origin, piece));
    Bytes all;
    for (int i = 0; i < 10; ++i) {
      const Bytes data = pattern(1 + random() % (block == 0 ? 3'000'000 : 2500), random());
      file_->write_at(data, origin + std::ssize(all));
      all.insert(all.end(), data.begin(), data.end());
      if (i % 3 == 0) file_->write_at(bytes("elsewhere"), origin + 40'000'000);
    }
    expect(origin, all);
    expect(origin, all);
    origin += 50'000'000;
  }
}

TEST_P(CapturedSumsTest, OfBlocksInTurns) {
  const Bytes first = pattern(2500, 1), second = pattern(3777, 2);
  for (int64_t at = 0; at < 5000; at += 100)
    for (const auto& [origin, data] : {std::pair(int64_t{0}, &first), std::pair(int64_t{9999}, &second)}) {
      if (at >= std::ssize(*data)) continue;
      ASSERT_TRUE(file_->begin_sums(origin, piece));
      file_->write_at(std::span(*data)
                          .subspan(static_cast<size_t>(at))
                          .first(std::min<size_t>(100, data->size() - static_cast<size_t>(at))),
                      origin + at);
    }
  expect(0, first);
  expect(9999, second);
}

TEST_P(CapturedSumsTest, NoneOfOtherBytes) {
  ASSERT_TRUE(file_->begin_sums(0, piece));
  file_->write_at(pattern(2500), 0);
  EXPECT_TRUE(has_none(0, 2499)) << "more bytes were written";
  EXPECT_TRUE(has_none(0, 2501));
  EXPECT_TRUE(has_none(1, 2499)) << "no such origin";
  file_->write_at(pattern(10), 100);
  EXPECT_TRUE(has_none(0, 2500)) << "bytes were written again";
}

TEST_P(CapturedSumsTest, OfAFailedSave) {
  ASSERT_TRUE(file_->begin_sums(0, piece));
  const Bytes data = pattern(2500);
  file_->write_at(data, 0);
  batch_->give_up();
  expect(0, data);
}

}  // namespace
}  // namespace sheaf::testing::captured_sums_test
