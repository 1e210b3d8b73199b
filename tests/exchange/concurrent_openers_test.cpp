// Tests that handles of a file detect other writers on any host.
#include "exchange/transfer/concurrent_openers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "support/hosts_store.hpp"

namespace sheaf::exchange::concurrent_openers_test {
namespace {

TEST(ConcurrentOpeners, WaitForWhoFillsGaps) {
  test::HostsOptions options;
  options.locks = LockScope::global;
  test::SimulatedHosts hosts(options);
  test::HostsStore store(hosts, 0, 0), elsewhere(hosts, 1, 1);
  ConcurrentOpeners first, second, third;
  first.announce(store.open("file", Access::create));
  auto kept_out = first.keep_out();
  ASSERT_TRUE(kept_out);
  std::atomic<bool> announced = false;
  std::thread opening([&] {
    second.announce(elsewhere.open("file", Access::write));
    announced = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(announced);
  kept_out = {};
  opening.join();
  EXPECT_FALSE(first.keep_out());
  EXPECT_FALSE(second.keep_out());
  EXPECT_FALSE(third.keep_out()) << "was never announced";
  second.retire();
  EXPECT_TRUE(first.keep_out());
}

}  // namespace
}  // namespace sheaf::exchange::concurrent_openers_test
