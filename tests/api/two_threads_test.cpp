// Two threads use one handle at the same time, which the interface forbids. One of their calls must fail.
#include <atomic>
#include <chrono>
#include <thread>

#include "api/api_fixture.hpp"

namespace sheaf::test::two_threads_test {
namespace {

using TwoThreads = Api;

// Both threads make calls until two calls overlap. This can take long on a busy host.
TEST_F(TwoThreads, OnOneHandleEndWithAnError) {
  const int sid = create(path("a"), {1 << 20}, 512, nullptr, "wb,buffer=0");
  ASSERT_GE(sid, 0);
  std::atomic<int> refused = 0;
  std::atomic<bool> told = false;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto flush = [&] {
    while (refused == 0 && std::chrono::steady_clock::now() < deadline) {
      if (sion_flush(sid) == SION_SUCCESS) continue;
      ++refused;
      if (last_error_has("another thread")) told = true;
    }
  };
  std::thread other(flush);
  flush();
  other.join();
  EXPECT_GT(refused, 0);
  EXPECT_TRUE(told);
  EXPECT_EQ(sion_close(sid), 1) << sheaf_last_error();
}

TEST_F(TwoThreads, InTurnAreFine) {
  const int sid = create(path("a"), {1 << 20}, 512, nullptr, "wb,buffer=0");
  ASSERT_GE(sid, 0);
  const std::vector<std::byte> record = content(0, 0, 2000);
  for (int i = 0; i < 100; ++i)
    std::thread([&] { EXPECT_EQ(sion_fwrite(record.data(), 1, record.size(), sid), record.size()); }).join();
  EXPECT_EQ(sion_get_bytes_written(sid), 200'000);
  EXPECT_EQ(sion_close(sid), 1);
}

}  // namespace
}  // namespace sheaf::test::two_threads_test
