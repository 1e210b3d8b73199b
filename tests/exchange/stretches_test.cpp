// File domains of hosts that share no page cache: a unit of the file system belongs to one aggregator.
#include <gtest/gtest.h>

#include <map>

#include "exchange/domains.hpp"

namespace sheaf::exchange::stretches_test {
namespace {

struct Range {
  int64_t low, high, window, unit, aggregators;
};

void check(const Range& r) {
  SCOPED_TRACE(std::to_string(r.low) + " to " + std::to_string(r.high) + ", windows of " +
               std::to_string(r.window) + ", units of " + std::to_string(r.unit) + ", " +
               std::to_string(r.aggregators) + " aggregators");
  const Windows windows = Windows::over(r.low, r.high, r.window, true);
  const Domains domains = Domains::of_stretches(windows, Stretches::of_units(windows, r.unit), r.aggregators);
  std::map<int64_t, int64_t> writers;  // of units
  int64_t next = r.low;
  for (int64_t a = 0; a < r.aggregators; ++a) {
    EXPECT_LE(domains.windows_of(a), domains.rounds());
    for (int64_t round = 0; domains.has_window(a, round); ++round) {
      EXPECT_EQ(domains.begin(a, round), next);
      next = domains.end(a, round);
      for (int64_t unit = domains.begin(a, round) / r.unit; unit <= (next - 1) / r.unit; ++unit)
        EXPECT_EQ(writers.try_emplace(unit, a).first->second, a) << "unit " << unit;
    }
  }
  EXPECT_EQ(next, r.high);
}

TEST(Stretches, GiveEveryUnitToOneAggregator) {
  for (const int64_t low : {0, 1, 63, 64, 100, 130, 1000})
    for (const int64_t length : {1, 64, 200, 257, 5000})
      for (const int64_t window : {8, 16, 64})
        for (const int64_t unit : {16, 64, 128, 1024})
          for (const int64_t aggregators : {1, 2, 3, 7})
            if (unit % window == 0 || window % unit == 0)
              check({low, low + length, window, unit, aggregators});
}

TEST(Stretches, ShareTheUnitsEvenly) {
  const Windows windows = Windows::over(0, 4096, 16, true);
  const Stretches stretches = Stretches::of_units(windows, 64);
  EXPECT_EQ(stretches.count(windows), 64);
  const Domains domains = Domains::of_stretches(windows, stretches, 3);
  EXPECT_EQ(domains.windows_of(0), 22 * 4);
  EXPECT_EQ(domains.windows_of(2), 21 * 4);
}

}  // namespace
}  // namespace sheaf::exchange::stretches_test
