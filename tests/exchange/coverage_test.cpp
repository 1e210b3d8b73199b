// Tests parts of a transfer: coverage, windows, and the encoding of segments.
#include "exchange/pieces/coverage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <random>

#include "base/error.hpp"
#include "exchange/collective_executor.hpp"
#include "exchange/pieces/windows.hpp"
#include "exchange/run_code.hpp"
#include "layout/extent_code.hpp"

namespace sheaf::exchange::coverage_test {
namespace {

using layout::TypeMap;

FileAccess access_of(const TypeMap& type, int64_t displacement, int64_t bytes) {
  FileAccess access;
  access.displacement = displacement;
  access.filetype = &type;
  access.to = bytes;
  return access;
}

TEST(Coverage, OfPiecesThatTileARangeIsThatOfTheRange) {
  const TypeMap type = TypeMap::bytes(8).resized(0, 24);
  uint64_t sum = 0;
  for (int64_t task = 0; task < 3; ++task) sum += coverage(access_of(type, 8 * task, 80), 0, 80);
  EXPECT_EQ(sum, coverage_of_range(0, 240));
}

TEST(Coverage, TellsGapsFromOverlaps) {
  const TypeMap whole = TypeMap::bytes(1);
  const auto of = [&](int64_t begin, int64_t end) {
    return coverage(access_of(whole, begin, end - begin), 0, end - begin);
  };
  EXPECT_EQ(of(0, 50) + of(50, 100), coverage_of_range(0, 100));
  EXPECT_NE(of(0, 50) + of(51, 100), coverage_of_range(0, 100));
  EXPECT_NE(of(0, 60) + of(50, 100), coverage_of_range(0, 100));
  EXPECT_NE(of(0, 40) + of(30, 80) + of(90, 100), coverage_of_range(0, 100)) << "as many bytes as the range";
}

TEST(CoverageMap, FindsRunsAndGaps) {
  std::vector<std::atomic<uint64_t>> words(CoverageMap::words_for(300));
  const CoverageMap map{std::span(words)};
  map.set(5, 70);
  map.set(128, 200);
  EXPECT_EQ(map.next_set(0, 300), 5);
  EXPECT_EQ(map.next_clear(5, 300), 70);
  EXPECT_EQ(map.next_set(70, 300), 128);
  EXPECT_EQ(map.next_clear(128, 300), 200);
  EXPECT_EQ(map.next_set(200, 300), 300);
  map.clear();
  EXPECT_EQ(map.next_set(0, 300), 300);
}

// Sparse and dense maps of a long window, each used twice.
TEST(CoverageMap, AgreesWithAModelOfLongWindows) {
  std::mt19937 random(2);
  for (const int64_t length : {64, 4095, 4096, 4097, 300'000}) {
    std::vector<std::atomic<uint64_t>> words(CoverageMap::words_for(length));
    const CoverageMap map{std::span(words)};
    for (const int runs : {1, 3, 200, 2}) {
      std::vector<bool> model(static_cast<size_t>(length));
      for (int run = 0; run < runs; ++run) {
        const auto begin = static_cast<int64_t>(random()) % length;
        const int64_t end = std::min(length, begin + 1 + static_cast<int64_t>(random()) % 200);
        map.set(begin, end);
        std::fill(model.begin() + begin, model.begin() + end, true);
      }
      std::vector<bool> found(static_cast<size_t>(length));
      map.for_each_run(length, [&](int64_t begin, int64_t end) {
        ASSERT_LT(begin, end);
        std::fill(found.begin() + begin, found.begin() + end, true);
      });
      ASSERT_EQ(found, model) << length << " bytes, " << runs << " runs";
      map.clear();
      ASSERT_TRUE(std::ranges::all_of(words, [](const auto& word) { return word == 0; }));
    }
  }
}

TEST(Windows, BeginOnMultiplesOfTheirSize) {
  const Windows windows = Windows::over(1000, 5000, 1024);
  EXPECT_EQ(windows.count(), 5);
  EXPECT_EQ(windows.begin(0), 1000);
  EXPECT_EQ(windows.end(0), 1024);
  EXPECT_EQ(windows.begin(4), 4096);
  EXPECT_EQ(windows.end(4), 5000);
}

// All windows in one block of the shared granularity must have the same owner in every call. Each window must
// occur once.
TEST(Windows, GiveEveryUnitToOneOwner) {
  std::map<std::array<int64_t, 3>, int64_t> aggregators;
  for (const int64_t low : {0, 1, 63, 64, 100, 130, 1000})
    for (const int64_t length : {1, 64, 200, 257, 5000})
      for (const int64_t size : {8, 16, 64})
        for (const int64_t unit : {16, 64, 128, 1024})
          for (const int64_t all : {1, 2, 3, 7}) {
            if (unit % size != 0) continue;
            const Windows windows = Windows::over(low, low + length, size, unit, all);
            int64_t bytes = 0;
            for (int64_t number = 0; number < windows.count(); ++number) {
              const int64_t place = windows.place(number), begin = windows.begin(place),
                            end = windows.end(place);
              bytes += end - begin;
              if (begin == end) continue;
              ASSERT_EQ(windows.at(begin), place);
              const auto known = aggregators.try_emplace({begin / unit, unit, all}, number % all);
              ASSERT_EQ(known.first->second, number % all);
            }
            ASSERT_EQ(bytes, length);
            ASSERT_EQ(windows.rounds() * all, windows.count());
          }
}

// The windows of a short extent must be short, even if blocks of the shared granularity are as long as a
// MooseFS chunk. Otherwise a call would allocate more memory than it needs.
TEST(Windows, OfAShortRangeAreShort) {
  constexpr int64_t KiB = 1 << 10, MiB = 1 << 20;
  CollectiveOptions how;
  how.block = 64 * KiB;
  for (const int64_t unit : {64 * KiB, 128 * KiB, 4 * MiB, 64 * MiB}) {
    how.unit = unit;
    const auto window = [&](int64_t range) { return window_of_range(how, range, 4 * MiB, 3); };
    EXPECT_EQ(window(384 * KiB), unit == 4 * MiB ? unit : 256 * KiB) << unit;
    EXPECT_EQ(window(1024 * MiB), 4 * MiB) << unit;
    for (int64_t range = 1; range < 512 * MiB; range = 3 * range + 1) {
      const int64_t size = window(range);
      EXPECT_TRUE(size % unit == 0 || unit % size == 0) << unit << " " << range;
      EXPECT_EQ(size % how.block, 0) << unit << " " << range;
    }
  }
  // Blocks of CephFS are as long as its units. Windows that are parts of a unit are not whole blocks.
  how.unit = how.block = 4 * MiB;
  EXPECT_EQ(window_of_range(how, 16 * MiB, MiB, 3), 256 * KiB);
  EXPECT_EQ(window_of_range(how, 16 * MiB, 4 * MiB, 3), 4 * MiB);
}

TEST(RunCode, GivesBackTheRuns) {
  std::mt19937 random(1);
  constexpr int64_t window = 1000;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::atomic<uint64_t>> words(CoverageMap::words_for(window));
    const CoverageMap map(words);
    std::vector<std::pair<int64_t, int64_t>> runs, decoded;
    for (int64_t at = random() % 9; at < window;) {
      const int64_t length = round % 2 ? 8 : 1 + random() % 20, end = std::min(at + length, window);
      map.set(at, end);
      runs.emplace_back(at, end - at);
      at = end + 1 + (round % 3 ? random() % 9 : 15);
    }
    const Runs code = encode_runs(map, window);
    const Runs checked = check_runs(code.code, window);
    layout::for_each_extent(checked.code,
                            [&](int64_t begin, int64_t length) { decoded.emplace_back(begin, length); });
    ASSERT_EQ(decoded, runs);
    ASSERT_EQ(checked.bytes, code.bytes);
    ASSERT_EQ(checked.begin, runs.front().first);
    ASSERT_EQ(checked.end, runs.back().first + runs.back().second);
    if (round % 6 == 3) {
      EXPECT_LT(code.code.size(), 10u) << "equal runs at equal distances are there once";
    }
  }
}

TEST(RunCode, RefusesNonsense) {
  const auto refused = [](std::vector<int> bytes) {
    std::vector<std::byte> code;
    for (const int b : bytes) code.push_back(static_cast<std::byte>(b));
    EXPECT_THROW(check_runs(code, 100), Error);
  };
  refused({1});
  refused({1, 0, 1});
  refused({1, 1, 0});
  refused({101, 1, 1});
  refused({1, 1, 51, 1});
  refused({10, 5, 1, 0xfb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 5, 1});  // 5 bytes back
  refused({0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1});
}

}  // namespace
}  // namespace sheaf::exchange::coverage_test
