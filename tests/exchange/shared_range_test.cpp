// Tests writes to extents in which the program holds locks (exchange/transfer/shared_range).
#include "exchange/transfer/shared_range.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <utility>
#include <vector>

#include "exchange/transfer/independent.hpp"
#include "exchange/transfer/write_covered.hpp"
#include "storage/decorators/forwarding_file.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::exchange::shared_range_test {
namespace {

using Range = std::pair<int64_t, int64_t>;

// A file in which the program holds locks on the extents `bars`. It records the extents that the library has
// locked at each write.
class BarredFile final : public ForwardingFile {
 public:
  explicit BarredFile(MemoryStore& store) : ForwardingFile(store.open("a", sheaf::Access::create)) {}

  RangeLock lock_range(const LockRequest& wanted) override {
    const auto& [offset, length, exclusive, barred, timeout] = wanted;
    for (const auto& [from, to] : bars)
      if (from < offset + length && offset < to) {
        if (barred == OnConflict::wait)
          throw not_locked(path(), offset, length, "the program", conflict_timeout);
        return {nullptr, from, to};
      }
    if (stuck) throw not_locked(path(), offset, length, "another task", timeout);
    const Range range(offset, offset + length);
    held.push_back(range);
    was_exclusive |= exclusive;
    return held_until([this, range] {
      const auto at = std::ranges::find(held, range);
      ASSERT_NE(at, held.end());
      held.erase(at);
    });
  }
  size_t read_at(std::span<std::byte> data, int64_t offset) override {
    const size_t got = inner().read_at(data, offset);
    if (after_read) after_read();
    return got;
  }
  void write_at(std::span<const std::byte> data, int64_t offset) override {
    writes.push_back(held);
    inner().write_at(data, offset);
    if (after_write) after_write();
  }

  std::vector<Range> bars;
  bool stuck = false;  // another task never releases its lock
  std::vector<Range> held;
  std::vector<std::vector<Range>> writes;
  bool was_exclusive = false;
  std::function<void()> after_write, after_read;
};

class SharedRangeTest : public ::testing::Test {
 protected:
  std::vector<std::byte> contents() const { return store.contents("a"); }

  MemoryStore store;
  BarredFile file{store};
  IoCounters counters;
};

const std::vector<std::byte> ones(100, std::byte{1});

TEST_F(SharedRangeTest, IsHeldDuringTheWriteAndNotAfterwards) {
  put_shared(file, ones, 50, counters);
  EXPECT_EQ(file.writes, (std::vector<std::vector<Range>>{{{50, 150}}}));
  EXPECT_FALSE(file.was_exclusive);
  EXPECT_TRUE(file.held.empty());
}

TEST_F(SharedRangeTest, LeavesOutWhatTheProgramHasLocked) {
  file.bars = {{70, 80}, {100, 101}, {140, INT64_MAX}};
  put_shared(file, ones, 50, counters);
  EXPECT_EQ(file.writes, (std::vector<std::vector<Range>>{{{50, 70}, {80, 100}, {101, 140}}}));
  file.bars = {{0, INT64_MAX}};
  put_shared(file, ones, 50, counters);
  EXPECT_EQ(file.writes.back(), std::vector<Range>{});
  EXPECT_EQ(file.writes.size(), 2U);
  EXPECT_TRUE(file.held.empty());
}

// If the program released its lock during the write, the library must write again. Another process may have
// acquired a lock, read the old bytes, and written them back in the meantime.
TEST_F(SharedRangeTest, IsWrittenAgainIfALockOfTheProgramHasGone) {
  file.bars = {{100, 200}};
  file.after_write = [&] { file.bars.clear(); };
  put_shared(file, ones, 50, counters);
  EXPECT_EQ(file.writes, (std::vector<std::vector<Range>>{{{50, 100}}, {{50, 150}}}));
  file.writes.clear();
  file.bars = {{100, 200}};
  file.after_write = [&] { file.bars = {{120, 200}}; };
  put_shared(file, ones, 50, counters);
  EXPECT_EQ(file.writes, (std::vector<std::vector<Range>>{{{50, 100}}, {{50, 120}}}));
}

TEST_F(SharedRangeTest, OfATaskThatNeverGivesItBackIsAnError) {
  file.stuck = true;
  EXPECT_THROW(put_shared(file, ones, 50, counters), Error);
  EXPECT_TRUE(file.writes.empty());
  EXPECT_TRUE(file.held.empty());
}

// Data sieving reads the gaps between the extents and writes them back. It must not do so without a lock.
TEST_F(SharedRangeTest, NothingIsReadAndWrittenBackWithoutALock) {
  const std::vector<std::byte> zeros(400);
  std::vector<std::byte> pieces(100, std::byte{7});
  const layout::TypeMap every_other = layout::TypeMap::bytes(2).resized(0, 4);
  for (const bool barred : {false, true}) {
    file.bars = barred ? std::vector<Range>{{10, 20}} : std::vector<Range>{};
    store.set_contents("a", zeros);
    file.writes.clear();
    file.was_exclusive = false;
    FileAccess access{0, &every_other, 0, 100, pieces.data(), &contiguous_bytes()};
    independent_write(file, access, {.sieving = Sieving::enabled}, counters);
    EXPECT_EQ(file.was_exclusive, !barred);
    EXPECT_EQ(file.writes.size(), barred ? 50U : 1U);
    for (size_t at = 0; at < 200; ++at)
      EXPECT_EQ(contents()[at], std::byte{at % 4 < 2 ? uint8_t{7} : uint8_t{0}}) << at;

    store.set_contents("a", zeros);
    file.writes.clear();
    std::vector<std::byte> window(200, std::byte{9});
    std::vector<std::atomic<uint64_t>> words(CoverageMap::words_for(200));
    const CoverageMap map(words);
    for (int64_t at = 0; at < 200; at += 4) map.set(at, at + 2);
    write_covered(file, window, map, 0, Sieving::enabled, counters);
    EXPECT_EQ(file.writes.size(), barred ? 50U : 1U);
    for (size_t at = 0; at < 200; ++at)
      EXPECT_EQ(contents()[at], std::byte{at % 4 < 2 ? uint8_t{9} : uint8_t{0}}) << at;
  }
}

TEST_F(SharedRangeTest, IsNotNeededForWholeBlocks) {
  std::vector<std::byte> data(3 * sieve_block);
  const layout::TypeMap every_other = layout::TypeMap::bytes(sieve_block).resized(0, 2 * sieve_block);
  const auto locks_of_write = [&](const layout::TypeMap& type, int64_t offset, int64_t bytes) {
    file.writes.clear();
    independent_write(file, {offset, &type, 0, bytes, data.data(), &contiguous_bytes()}, {}, counters);
    const size_t locks = file.writes.front().size();
    if (&type == &contiguous_bytes()) {
      put_shared(file, std::span(data).first(static_cast<size_t>(bytes)), offset, counters);
      EXPECT_EQ(file.writes.back().size(), locks);
    }
    return locks;
  };
  EXPECT_EQ(locks_of_write(contiguous_bytes(), sieve_block, 2 * sieve_block), 0U);
  EXPECT_EQ(locks_of_write(every_other, sieve_block, 3 * sieve_block), 0U);
  EXPECT_EQ(locks_of_write(contiguous_bytes(), sieve_block, sieve_block + 1), 1U);
  EXPECT_EQ(locks_of_write(contiguous_bytes(), sieve_block + 1, sieve_block), 1U);
  EXPECT_EQ(locks_of_write(every_other, sieve_block / 2, 3 * sieve_block), 1U);
}

// One task sieves extents with gaps of whole blocks. After it has read the extents, and before it writes them
// back, another task writes a whole block of a gap without a lock. Neither task may lose its bytes.
TEST_F(SharedRangeTest, IsNotHeldByAWriteOfABlockThatAnotherTaskReads) {
  constexpr int64_t stride = 2 * sieve_block, count = 5, theirs = 3 * sieve_block;
  const std::vector<std::byte> zeros(static_cast<size_t>(stride * count)), block(sieve_block, std::byte{9});
  const auto is_own = [](int64_t at) { return at % stride < 2 || (at % stride >= 100 && at % stride < 102); };
  const auto expect_both_after = [&](auto write) {
    store.set_contents("a", zeros);
    int reads = 0;
    file.after_read = [&] {
      if (reads++ == 0) put_shared(file, block, theirs, counters);
    };
    write();
    EXPECT_GT(reads, 0);
    const auto bytes = contents();
    for (int64_t at = 0; at < stride * count; ++at)
      ASSERT_EQ(bytes[static_cast<size_t>(at)], is_own(at)                                  ? std::byte{7}
                                                : at >= theirs && at < theirs + sieve_block ? std::byte{9}
                                                                                            : std::byte{0})
          << at;
  };
  expect_both_after([&] {
    std::vector<std::byte> pieces(4 * count, std::byte{7});
    const layout::TypeMap pair =
        layout::TypeMap::vector(2, 1, 100, layout::TypeMap::bytes(2)).resized(0, stride);
    independent_write(file, {0, &pair, 0, 4 * count, pieces.data(), &contiguous_bytes()},
                      {.sieving = Sieving::enabled}, counters);
  });
  expect_both_after([&] {
    std::vector<std::byte> window(zeros.size(), std::byte{7});
    std::vector<std::atomic<uint64_t>> words(CoverageMap::words_for(std::ssize(window)));
    const CoverageMap map(words);
    for (int64_t at = 0; at < std::ssize(window); ++at)
      if (is_own(at)) map.set(at, at + 1);
    write_covered(file, window, map, 0, Sieving::enabled, counters);
  });
}

TEST_F(SharedRangeTest, WhoMustHaveARangeGetsAnError) {
  file.bars = {{10, 20}};
  std::vector<std::byte> piece(100);
  const FileAccess access{0, &contiguous_bytes(), 0, 100, piece.data(), &contiguous_bytes()};
  EXPECT_THROW(independent_write(file, access, {.locked = true}, counters), Error);
  EXPECT_TRUE(file.writes.empty()) << "without the range";
}

}  // namespace
}  // namespace sheaf::exchange::shared_range_test
