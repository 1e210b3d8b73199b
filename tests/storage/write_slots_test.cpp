#include "storage/write_slots.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "storage/testing.hpp"
#include "support/counting_store.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::write_slots_test {
namespace {

using namespace std::chrono_literals;

// The contract of both kinds of write slots: in one process and shared by processes.
class WriteSlotsContract : public ::testing::TestWithParam<bool> {
 protected:
  Store& store() {
    if (GetParam()) return posix_store();
    return memory_;
  }
  MemoryStore memory_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, WriteSlotsContract, ::testing::Values(false, true),
                         [](const auto& kind) { return kind.param ? "locked" : "memory"; });

TEST_P(WriteSlotsContract, AtMostSoManyTasksAreIn) {
  for (const int count : {1, 2, 3}) {
    const auto made = store().make_slots(count);
    test::WritersAtWork at_work;
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t) {
      threads.emplace_back([&] {
        const auto own = store().join_slots(made->name(), count);
        for (int i = 0; i < 10; ++i) {
          const HeldWriteSlot slot(*own);
          at_work.enter();
          std::this_thread::sleep_for(2ms);
          at_work.leave();
        }
      });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(at_work.most, count);
    EXPECT_EQ(at_work.writes, 60);
    made->hide();
  }
}

TEST_P(WriteSlotsContract, WhoeverWaitsGetsTheSlotThatIsGivenBack) {
  const auto made = store().make_slots(2);
  const auto second = store().join_slots(made->name(), 2);
  const auto third = store().join_slots(made->name(), 2);
  made->hide();
  const int one = made->take();
  const int two = second->take();
  std::atomic<bool> in = false;
  std::thread waiting([&] {
    const HeldWriteSlot slot(*third);
    in = true;
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(in);
  second->give_back(two);
  waiting.join();
  EXPECT_TRUE(in);
  made->give_back(one);
}

TEST_P(WriteSlotsContract, NobodyJoinsAHiddenName) {
  const auto made = store().make_slots(1);
  made->hide();
  const Error error = testing::error_of([&] { store().join_slots(made->name(), 1); });
  EXPECT_EQ(error.code(), Code::not_found);
  EXPECT_NE(std::string(error.what()).find(made->name()), std::string::npos);
  made->give_back(made->take());
}

TEST(LockedSlots, AProcessThatIsKilledLosesItsSlot) {
  const auto made = make_locked_slots(2);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto first = join_locked_slots(made->name(), 2);
    const auto second = join_locked_slots(made->name(), 2);
    first->take();
    second->take();
    if (write(ready[1], "", 1) != 1) _exit(1);
    pause();
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  close(ready[1]);
  made->hide();
  std::atomic<bool> in = false;
  std::thread waiting([&] {
    const HeldWriteSlot slot(*made);
    in = true;
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(in);
  kill(child, SIGKILL);
  waiting.join();
  EXPECT_TRUE(in);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
}

TEST(LockedSlots, ThreadsWithOneEndCountAsOneTask) {
  const auto slots = make_locked_slots(3);
  slots->hide();
  test::WritersAtWork at_work;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const HeldWriteSlot slot(*slots);
        at_work.enter();
        std::this_thread::yield();
        at_work.leave();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(at_work.most, 1);
}

}  // namespace
}  // namespace sheaf::write_slots_test
