// Tests the lock that a program may register for the handle table. The registration lasts until the process
// ends, so there is only one test.
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "api/api_fixture.hpp"
#include "support/thread_callbacks.hpp"

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

class Locks : public Api {
 protected:
  // Checks that the call `body` acquires the lock `times` times and has released it when it returns.
  static void takes(const Lock& own, const char* call, const std::function<void()>& body, int times = 1) {
    const int before = own.locked;
    body();
    EXPECT_EQ(own.locked - before, times) << call;
    EXPECT_EQ(own.locked, own.unlocked) << call;
  }
  // Checks every call that adds a handle to the table or removes one, in a group of one task.
  void changes_of_the_table(const Lock& own) {
    const std::string file = path("generic");
    sion_int64 chunk = 100;
    sion_int32 block = 512;
    int sid = -1, copy = -1, filenumber = 0, files = 1, lrank = 0, lsize = 1, local = 1, rank = 0;
    int *ranks = &rank, *numbers = nullptr, *lranks = nullptr;
    sion_int64* chunks = &chunk;
    PthreadEnd end;
    end.group = std::make_shared<PthreadGroup>(1);
    char name[] = "one task";
    const int aid = sion_generic_create_api(name);
    sion_generic_register_create_local_commgroup_cb(aid, pt_create);
    sion_generic_register_free_local_commgroup_cb(aid, pt_free);
    sion_generic_register_barrier_cb(aid, pt_barrier);
    sion_generic_register_bcastr_cb(aid, pt_bcastr);
    sion_generic_register_gatherr_cb(aid, pt_gatherr);
    sion_generic_register_gathervr_cb(aid, pt_gathervr);
    sion_generic_register_scatterr_cb(aid, pt_scatterr);
    sion_generic_register_scattervr_cb(aid, pt_scattervr);
    const auto generic = [&](const char* mode) {
      return sion_generic_paropen(aid, file.c_str(), mode, &chunk, &block, &end, 0, 1, &filenumber, &files,
                                  &lrank, &lsize, nullptr, nullptr);
    };
    takes(own, "sion_generic_paropen", [&] { EXPECT_GE(sid = generic("wb"), 0) << sheaf_last_error(); });
    takes(
        own, "sion_generic_parreinit", [&] { EXPECT_EQ(sion_generic_parreinit(sid, 200), 1); }, 0);
    takes(
        own, "sion_fwrite", [&] { EXPECT_EQ(sion_fwrite("four", 1, 4, sid), 4u); }, 0);
    takes(own, "sion_generic_parclose", [&] { EXPECT_EQ(sion_generic_parclose(sid), 1); });
    takes(own, "sion_generic_paropen", [&] { EXPECT_GE(sid = generic("rb"), 0) << sheaf_last_error(); });
    takes(own, "sion_dup", [&] { EXPECT_GE(copy = sion_dup(sid, SION_DUP_ALL, 0, 0), 0); });
    takes(own, "sion_dedup", [&] { EXPECT_EQ(sion_dedup(copy), 1); });
    takes(
        own, "sion_dedup", [&] { EXPECT_EQ(sion_dedup(sid), 0) << "is no duplicate"; }, 0);
    takes(own, "sion_generic_parclose", [&] { EXPECT_EQ(sion_generic_parclose(sid), 1); });
    const auto mapped = [&] {
      return sion_generic_paropen_mapped(aid, const_cast<char*>(file.c_str()), "rb", &files, &end, 0, 1,
                                         &local, &ranks, &chunks, &numbers, &lranks, &block, nullptr);
    };
    takes(own, "sion_generic_paropen_mapped", [&] { EXPECT_GE(sid = mapped(), 0) << sheaf_last_error(); });
    takes(own, "sion_generic_parclose_mapped", [&] { EXPECT_EQ(sion_generic_parclose_mapped(sid), 1); });
    sion_generic_free_api(aid);
    takes(own, "sion_open", [&] { EXPECT_GE(sid = create(path("serial"), {100}), 0); });
    takes(own, "sion_close", [&] { EXPECT_EQ(sion_close(sid), 1); });
    takes(own, "sion_open_rank", [&] { EXPECT_GE(sid = open_rank(path("serial"), 0), 0); });
    takes(own, "sion_close", [&] { EXPECT_EQ(sion_close(sid), 1); });
    takes(
        own, "sion_close", [&] { EXPECT_LT(sion_close(sid), 1) << "closed already"; }, 0);
    takes(
        own, "sion_open", [&] { EXPECT_EQ(open(path("missing")), -1); }, 0);
  }
};

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
  changes_of_the_table(own);
  EXPECT_GE(own.locked, 1 + 4 * 20 * 4) << "at every open and close";
}

}  // namespace
}  // namespace sheaf::test::locks_test
