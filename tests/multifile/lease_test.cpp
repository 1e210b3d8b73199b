// Leases: who is writing a multifile, and whether that job lives.
#include "journal/lease.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "creation/commit.hpp"
#include "process/process_identity.hpp"
#include "recovery/leftovers.hpp"
#include "storage/decorators/forwarding_store.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/stores/memory_store.hpp"
#include "support/stores/recording_store.hpp"

namespace sheaf::test::lease_test {
namespace {

using std::chrono::milliseconds;

std::string text_of(MemoryStore& store, const std::string& path = "a.lease") {
  const auto bytes = store.contents(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

format::Lease lease_in(MemoryStore& store) { return format::decode_lease(store.contents("a.lease")).value(); }

void put(Store& store, const format::Lease& lease, const std::string& path = "a.lease") {
  store.open(path, Access::create)->write_at(format::encode(lease), 0);
}

// Of a machine that this one knows nothing of.
format::Lease foreign_lease() {
  format::Lease lease;
  lease.id = 77;
  lease.host = "elsewhere";
  lease.boot = "another";
  lease.pid = 4711;
  lease.started = 5;
  return lease;
}

TEST(LeaseFormat, IsReadAsItWasWritten) {
  format::Lease lease = foreign_lease();
  lease.counter = UINT64_MAX;
  lease.id = UINT64_MAX - 1;
  EXPECT_EQ(format::decode_lease(format::encode(lease)), lease);
  lease.boot.clear();
  EXPECT_EQ(format::decode_lease(format::encode(lease)), lease);
  lease.host = "a name\nwith \x1b lines" + std::string(1000, 'x');
  const auto found = format::decode_lease(format::encode(lease));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->host.starts_with("a?name?with?"));
  EXPECT_EQ(found->pid, lease.pid);
}

TEST(LeaseFormat, WhatIsNoneIsNotTakenForOne) {
  auto bytes = format::encode(foreign_lease());
  EXPECT_FALSE(format::decode_lease(std::span(bytes).first(bytes.size() - 1)));
  EXPECT_FALSE(format::decode_lease({}));
  for (size_t i = 0; i < bytes.size(); ++i) {
    auto changed = bytes;
    changed[i] = std::byte{'~'};
    EXPECT_NO_THROW(format::decode_lease(changed));
  }
  bytes[13] = std::byte{'2'};  // another version
  EXPECT_FALSE(format::decode_lease(bytes));
}

std::shared_ptr<Store> shared(Store& store) {
  return {&store, [](Store*) {}};
}

// A lease that is there, or would be.
std::unique_ptr<Lease> begun(Store& store, const std::string& path = "a") {
  auto lease = Lease::take(shared(store), path);
  const auto has_begun = [&] {
    const LeaseView view = look_at_lease(store, path);
    return view.lease && view.lease->pid == ::getpid() && view.lease->started == this_process().started;
  };
  for (int tries = 0; tries < 2000 && !has_begun(); ++tries) std::this_thread::sleep_for(milliseconds(1));
  return lease;
}

// Of a process of this host that has ended; this one has its number now.
format::Lease dead_lease() {
  format::Lease dead = foreign_lease();
  const ProcessIdentity me = this_process();
  dead.boot = me.boot;
  dead.pid = me.pid;
  dead.started = me.started + 1;
  return dead;
}

class Leases : public ::testing::Test {
 protected:
  Leases() { ::setenv("SHEAF_LEASE_TIMES", "20,400", 1); }
  ~Leases() override { ::unsetenv("SHEAF_LEASE_TIMES"); }
  Holder watched() {
    return watch_lease(store, "a", lease_times(), [this](const LeaseView&) { ++looks; }).holder;
  }
  MemoryStore store;
  int looks = 0;
};

TEST_F(Leases, AreThereAndMoveAsLongAsTheyAreHeld) {
  auto lease = begun(store);
  ASSERT_TRUE(lease);
  EXPECT_EQ(look_at_lease(store, "a").holder, Holder::living);
  EXPECT_EQ(look_at_lease(store, "a.000003").holder, Holder::living) << "of the set that the file belongs to";
  EXPECT_NE(text_of(store).find("pid " + std::to_string(::getpid()) + "\n"), std::string::npos)
      << text_of(store);
  const uint64_t before = lease_in(store).counter;
  for (int tries = 0; tries < 1000 && lease_in(store).counter < before + 2; ++tries)
    std::this_thread::sleep_for(milliseconds(10));
  EXPECT_GE(lease_in(store).counter, before + 2);
  EXPECT_EQ(watched(), Holder::living);
  EXPECT_EQ(looks, 0) << "nobody need wait for that";
  lease.reset();
  EXPECT_TRUE(store.paths().empty());
  EXPECT_EQ(look_at_lease(store, "a").holder, Holder::none);
}

TEST_F(Leases, OfASetThatIsClosedAtOnceAreNeverMade) {
  ::setenv("SHEAF_LEASE_TIMES", "60000,400", 1);
  RecordingStore recording(store);
  Lease::take(shared(recording), "a").reset();
  EXPECT_EQ(recording.length(), 0u);
}

// A file system that takes longer than anybody waits for a thread.
class SlowStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    begun = true;
    while (!goes_on) std::this_thread::sleep_for(milliseconds(1));
    auto file = inner().open(path, access);
    made = true;
    return file;
  }
  std::atomic<bool> begun = false, goes_on = false, made = false;
};

TEST_F(Leases, ThatAreStillBeingMadeWhenTheSetIsClosedGoAway) {
  SlowStore slow(store);
  auto lease = Lease::take(shared(slow), "a");
  while (!slow.begun) std::this_thread::sleep_for(milliseconds(1));
  lease.reset();
  slow.goes_on = true;
  for (int tries = 0; tries < 2000 && !(slow.made && store.paths().empty()); ++tries)
    std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(store.paths().empty());
}

TEST_F(Leases, WhereTheyCannotBeMadeTheyAreMissing) {
  const std::string foreign = "of somebody else";
  store.set_contents("a.lease", std::as_bytes(std::span(foreign)));
  const auto held = [](Store& where) {
    const auto lease = Lease::take(shared(where), "a");
    std::this_thread::sleep_for(milliseconds(60));  // three beats
  };
  held(store);
  EXPECT_EQ(text_of(store), foreign);
  remove_lease(store, "a");
  EXPECT_EQ(text_of(store), foreign);
  EXPECT_EQ(look_at_lease(store, "a").holder, Holder::none);
  store.remove("a.lease");
  store.add_directory("a.lease");
  held(store);
  EXPECT_TRUE(store.status("a.lease").is_directory);
  for (FaultPlan plan; plan.fail_at < 10; ++plan.fail_at) {
    MemoryStore memory;
    FaultyStore faulty(memory, plan);
    EXPECT_NO_THROW(held(faulty));
  }
}

TEST_F(Leases, ThatTheDiskHasNoRoomForLeaveNothing) {
  FaultyStore full(store, {.fail_at = 0,
                           .from_then_on = true,
                           .errno_value = ENOSPC,
                           .kind = Operation::write,
                           .path_contains = "lease"});
  auto lease = Lease::take(shared(full), "a");
  for (int tries = 0; tries < 2000 && full.failed() == 0; ++tries)
    std::this_thread::sleep_for(milliseconds(1));
  lease.reset();
  EXPECT_GT(full.failed(), 0);
  EXPECT_TRUE(store.paths().empty());
}

TEST_F(Leases, OfADeadJobAreNoObstacleAndAreTakenOver) {
  put(store, dead_lease());
  EXPECT_EQ(watched(), Holder::none);
  EXPECT_EQ(looks, 0);
  const auto lease = begun(store);
  EXPECT_TRUE(lease);
  EXPECT_EQ(look_at_lease(store, "a").holder, Holder::living);
}

TEST_F(Leases, OfADeadJobDoNotHideOneThatHasJustBegun) {
  put(store, dead_lease());
  const auto lease = Lease::take(shared(store), "a");  // made by a thread in a while
  EXPECT_EQ(watched(), Holder::living);
}

TEST_F(Leases, OfAnotherMachineAreWatched) {
  put(store, foreign_lease());
  EXPECT_EQ(look_at_lease(store, "a").holder, Holder::unknown);
  EXPECT_NE(advice_on_unclosed(store, "a").find("process 4711 on host elsewhere"), std::string::npos);
  EXPECT_EQ(watched(), Holder::none) << "it does not move";
  EXPECT_GT(looks, 0);

  int raised = 0;
  const auto moving = watch_lease(store, "a", lease_times(), [&](const LeaseView&) {
    format::Lease next = foreign_lease();
    next.counter = static_cast<uint64_t>(++raised);
    put(store, next);
  });
  EXPECT_EQ(moving.holder, Holder::living);
  EXPECT_EQ(moving.job(), "process 4711 on host elsewhere");

  put(store, foreign_lease());
  const auto closed =
      watch_lease(store, "a", lease_times(), [&](const LeaseView&) { store.remove("a.lease"); });
  EXPECT_EQ(closed.holder, Holder::none);
}

TEST_F(Leases, ThatAreLockedAreHeldAtOnce) {
  put(store, foreign_lease());
  const auto holder = store.open("a.lease", Access::write);
  RangeLock lock = holder->lock(0, 1, true, Barred::refuse);
  ASSERT_TRUE(lock);
  EXPECT_EQ(watched(), Holder::living);
  EXPECT_EQ(looks, 0);
  lock = {};
  EXPECT_EQ(look_at_lease(store, "a").holder, Holder::unknown);
  EXPECT_TRUE(holder->lock(0, 1, true, Barred::refuse)) << "nobody who looks keeps a lock";
}

TEST_F(Leases, ThatAnotherJobHasTakenOverAreItsOwn) {
  auto first = begun(store);
  const uint64_t of_first = lease_in(store).id;
  auto second = Lease::take(shared(store), "a");
  for (int tries = 0; tries < 2000 && lease_in(store).id == of_first; ++tries)
    std::this_thread::sleep_for(milliseconds(1));
  const uint64_t id = lease_in(store).id;
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(lease_in(store).id, id) << "the first one raises it no more";
  first.reset();
  EXPECT_TRUE(store.status("a.lease").exists);
  second.reset();
  EXPECT_FALSE(store.status("a.lease").exists);
}

TEST_F(Leases, AreNotTouchedByAForkedChild) {
  auto& disk = posix_store();
  const std::string path = "/tmp/sheaf_lease." + std::to_string(::getpid());
  auto lease = begun(disk, path);
  ASSERT_TRUE(lease);
  const pid_t child = ::fork();
  if (child == 0) {
    lease.reset();
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(look_at_lease(disk, path).holder, Holder::living);
  lease.reset();
  EXPECT_FALSE(disk.status(path + ".lease").exists);
}

TEST_F(Leases, NameTheJobOfALeftover) {
  const std::string name = new_temporary_name(store, "a");
  store.set_contents(name, {});
  const auto entries = [&] { return find_leftovers(store, "", store.paths()); };
  EXPECT_EQ(entries().at(0).writer, "");
  auto lease = begun(store, name);
  EXPECT_NE(entries().at(0).writer.find(std::to_string(::getpid())), std::string::npos);
}

}  // namespace
}  // namespace sheaf::test::lease_test
