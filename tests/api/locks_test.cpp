// The lock that a program may register for the handle table. The registration holds for the life of the
// process, so this is one test.
#include <mutex>
#include <thread>
#include <vector>

#include "api/api_fixture.hpp"

namespace sheaf::test::locks_test {
namespace {

struct Lock {
  std::mutex mutex;
  int locked = 0;
  int unlocked = 0;
};

int lock(void* data) {
  auto* own = static_cast<Lock*>(data);
  own->mutex.lock();
  ++own->locked;
  return SION_SUCCESS;
}

int unlock(void* data) {
  auto* own = static_cast<Lock*>(data);
  ++own->unlocked;
  own->mutex.unlock();
  return SION_NOT_SUCCESS;  // the library ignores this result
}

class Locks : public Api {};

TEST_F(Locks, GuardOpensAndClosesAndStay) {
  static Lock own;  // in use until the process ends
  EXPECT_EQ(sion_lock_user_callbacks_defined(), 0);
  EXPECT_EQ(sion_lock_register_lock_callbacks(nullptr, unlock, &own), 0);
  EXPECT_EQ(sion_lock_register_lock_callbacks(lock, nullptr, &own), 0);
  EXPECT_EQ(sion_lock_user_callbacks_defined(), 0);
  EXPECT_EQ(sion_lock_register_lock_callbacks(lock, unlock, &own), 1);
  EXPECT_EQ(own.locked, 1) << "called once at once";
  EXPECT_EQ(sion_lock_user_callbacks_defined(), 1);
  Lock other;
  EXPECT_EQ(sion_lock_register_lock_callbacks(lock, unlock, &other), 0) << "the first lock stays";
  EXPECT_EQ(other.locked, 0);

  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const std::string file = path("f" + std::to_string(t));
      for (int i = 0; i < 20; ++i) {
        const int sid = create(file, {100});
        const auto data = content(t, 0, 100);
        EXPECT_EQ(sion_fwrite(data.data(), 1, 100, sid), 100u);
        EXPECT_EQ(sion_close(sid), 1);
        const int back = open_rank(file, 0);
        std::vector<std::byte> found(100);
        EXPECT_EQ(sion_fread(found.data(), 1, 100, back), 100u);
        EXPECT_EQ(found, data);
        EXPECT_EQ(sion_close(back), 1);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(own.locked, own.unlocked);
  EXPECT_GE(own.locked, 1 + 4 * 20 * 4) << "at every open and close";
}

}  // namespace
}  // namespace sheaf::test::locks_test
