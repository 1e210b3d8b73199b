// Leases. They tell which job writes a multifile, and whether that job is alive.
#include "multifile/journal/lease.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/os/process_identity.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::test::lease_test {

using namespace multifile;

namespace {

void put(Store& store, const format::Lease& lease, const std::string& path = "a.lease") {
  store.open(path, Access::create)->write_at(format::encode(lease), 0);
}

// Returns a lease of an unknown host.
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
  lease.since = 1'800'000'000;
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

// Returns a lease of a process that has ended on this host. The current process has the same PID.
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

TEST_F(Leases, OfADeadJobAreNoObstacle) {
  put(store, dead_lease());
  EXPECT_EQ(look_at_lease(store, "a.000003").lease, dead_lease()) << "of the set that the file belongs to";
  EXPECT_EQ(watched(), Holder::none);
  EXPECT_EQ(looks, 0);
}

TEST_F(Leases, ThatAreBeingMadeAreWatched) {
  store.set_contents("a.lease", {});
  EXPECT_EQ(look_at_lease(store, "a").holder, Holder::unknown);
  EXPECT_EQ(watched(), Holder::none) << "nothing comes";
  const auto made =
      watch_lease(store, "a", lease_times(), [&](const LeaseView&) { put(store, foreign_lease()); });
  EXPECT_EQ(made.holder, Holder::living);
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
  const auto empty =
      watch_lease(store, "a", lease_times(), [&](const LeaseView&) { store.set_contents("a.lease", {}); });
  EXPECT_EQ(empty.holder, Holder::living);
  EXPECT_EQ(empty.job(), "process 4711 on host elsewhere") << "the job is writing its lease";

  put(store, foreign_lease());
  const auto closed =
      watch_lease(store, "a", lease_times(), [&](const LeaseView&) { store.remove("a.lease"); });
  EXPECT_EQ(closed.holder, Holder::none);
}

TEST_F(Leases, ThatAreLockedAreHeldAtOnce) {
  put(store, foreign_lease());
  const auto holder = store.open("a.lease", Access::write);
  RangeLock lock = holder->lock(0, 1, true, OnConflict::refusal);
  ASSERT_TRUE(lock);
  EXPECT_EQ(watched(), Holder::living);
  EXPECT_EQ(looks, 0);
  lock = {};
  EXPECT_EQ(look_at_lease(store, "a").holder, Holder::unknown);
  EXPECT_TRUE(holder->lock(0, 1, true, OnConflict::refusal)) << "nobody who looks keeps a lock";
}

}  // namespace
}  // namespace sheaf::test::lease_test
