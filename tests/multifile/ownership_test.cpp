// Exclusive writing of a multifile. Only one process may write at a time, whatever the previous writer left.
#include "multifile/journal/ownership.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/os/process_identity.hpp"
#include "base/warnings.hpp"
#include "comm/agree.hpp"
#include "multifile/create/commit.hpp"
#include "multifile/create/output_set.hpp"
#include "multifile/recover/leftovers.hpp"
#include "storage/decorators/forwarding_store.hpp"
#include "support/hosts_store.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::test::ownership_test {

using namespace multifile;

namespace {

using std::chrono::milliseconds;
using LeaseCheck = Ownership::LeaseCheck;

std::optional<format::Lease> lease_in(Store& store, const std::string& path = "a") {
  return look_at_lease_file(store, path + ".lease").lease;
}

void put(Store& store, const format::Lease& lease) {
  const auto file = store.open("a.lease", Access::create);
  file->write_at(format::encode(lease), 0);
  file->close();
}

format::Lease foreign_lease() {  // of a host unknown to this one
  return {.id = 77, .host = "elsewhere", .boot = "another", .pid = 4711, .started = 5};
}

format::Lease dead_lease() {  // of an ended process of this host; the current process has its PID
  const ProcessIdentity me = this_process();
  return {.id = 78, .host = "here", .boot = me.boot, .pid = me.pid, .started = me.started + 1};
}

format::Lease living_lease() {  // held by the parent process
  const int64_t parent = ::getppid();
  format::Lease lease = dead_lease();
  lease.id = 79;
  lease.pid = parent;
  // Field 22 of the process status is the start time.
  const std::string name = "/proc/" + std::to_string(parent) + "/stat";
  const std::unique_ptr<FILE, int (*)(FILE*)> stat(std::fopen(name.c_str(), "r"), std::fclose);
  char line[1024] = {};
  if (!stat || !std::fgets(line, sizeof line, stat.get())) ADD_FAILURE() << name;
  const char* at = std::strrchr(line, ')');
  for (int field = 2; field < 22; ++field) at = std::strchr(at + 1, ' ');
  lease.started = std::strtoull(at, nullptr, 10);
  return lease;
}

std::string refusal(Store& store, const OwnershipRequest& request = {}) {
  const auto problem = attempt([&] { Ownership::take(store, "a", request); });
  EXPECT_TRUE(!problem || problem->code() == Code::foreign) << problem->what();
  return problem ? problem->what() : "";
}

bool is_lost(Ownership& ownership, LeaseCheck look = LeaseCheck::handle) {
  return attempt([&] { ownership.require_owned(look); }).has_value();
}

// Returns the reason in the error message of an append by a task that is not the owner.
std::string refusal_of_lease(Store& store, uint64_t id) {
  const auto problem = attempt([&] { WritingRight::open(store, "a", id, true); });
  if (!problem || problem->code() != Code::foreign) return "not refused";
  const std::string what = problem->what(), before = "to write any more: ";
  const size_t begin = what.find(before) + before.size();
  return what.substr(begin, what.find_first_of(",;", begin) - begin);
}

class OwnershipOfAName : public ::testing::Test {
 protected:
  OwnershipOfAName() { ::setenv("SHEAF_LEASE_TIMES", "20,400", 1); }
  ~OwnershipOfAName() override {
    ::unsetenv("SHEAF_LEASE_TIMES");
    take_warnings();
  }
  static bool warned(std::string_view text) {
    const auto warnings = take_warnings();
    EXPECT_LE(warnings.size(), 1u);
    return warnings.size() == 1 && warnings[0].find(text) != std::string::npos;
  }
  MemoryStore store;
};

TEST_F(OwnershipOfAName, IsThereAtOnceAndMovesUntilItIsGivenBack) {
  auto own = Ownership::take(store, "a");
  ASSERT_TRUE(own);
  EXPECT_FALSE(own->took_over());
  const auto lease = lease_in(store);
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->pid, ::getpid());
  EXPECT_EQ(lease->id, own->id());
  EXPECT_EQ(look_at_lease(store, "a.000003").holder, Holder::living) << "of the set that the file belongs to";
  for (int tries = 0; tries < 1000 && lease_in(store)->counter < 2; ++tries)
    std::this_thread::sleep_for(milliseconds(10));
  EXPECT_GE(lease_in(store)->counter, 2u);
  EXPECT_FALSE(is_lost(*own, LeaseCheck::name));
  own.reset();
  EXPECT_TRUE(store.paths().empty());
  EXPECT_TRUE(take_warnings().empty());
}

// If all tasks share a page cache, acquiring must cost one open and one write, and releasing one removal.
TEST_F(OwnershipOfAName, CostsAFileAnOpenAndItsRemoval) {
  ::setenv("SHEAF_LEASE_TIMES", "60000,400", 1);
  FaultyStore counted(store);
  auto own = Ownership::take(counted, "a");
  EXPECT_EQ(counted.operations(StoreOperation::open), 1);
  EXPECT_EQ(counted.operations(StoreOperation::write), 1);
  EXPECT_EQ(counted.operations(), 2);
  own->require_owned(LeaseCheck::name);
  EXPECT_EQ(counted.operations(), 3) << "a status";
  own.reset();
  EXPECT_EQ(counted.operations(StoreOperation::remove), 1);
  EXPECT_LE(counted.operations(), 5);
}

bool is_lost(WritingRight& right, LeaseCheck look = LeaseCheck::pre_write) {
  const auto problem = attempt([&] { right.require(look); });
  EXPECT_TRUE(!problem || problem->code() == Code::foreign) << problem->what();
  return problem.has_value();
}

TEST_F(OwnershipOfAName, CostsOtherTasksOfAnAppendAnOpenAndAStatusPerWrite) {
  const auto own = Ownership::take(store, "a");
  FaultyStore counted(store);
  const auto right = WritingRight::open(counted, "a", own->id(), true);
  EXPECT_EQ(counted.operations(), 2) << "open, read";
  for (int writes = 1; writes <= 3; ++writes) {
    EXPECT_FALSE(is_lost(*right));
    EXPECT_EQ(counted.operations(), 2 + writes);
    EXPECT_EQ(counted.operations(StoreOperation::status), writes);
  }
  right->end();
  EXPECT_EQ(counted.operations(StoreOperation::close), 1);
}

TEST_F(OwnershipOfAName, IsLostToOtherTasksAsWell) {
  auto own = Ownership::take(store, "a");
  const uint64_t id = own->id();
  const auto right = WritingRight::open(store, "a", id, true);
  store.remove("a.lease");
  EXPECT_TRUE(is_lost(*right));
  EXPECT_EQ(refusal_of_lease(store, id), "its lease 'a.lease' was removed") << "between two tasks' opens";
  put(store, foreign_lease());
  EXPECT_TRUE(is_lost(*right)) << "for ever";
  EXPECT_EQ(refusal_of_lease(store, id), "process 4711 on host elsewhere has taken it over");
}

TEST_F(OwnershipOfAName, IsRefusedWhileTheOwnerLives) {
  format::Lease living = living_lease();
  living.since = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()) - 35;
  put(store, living);
  const std::string why = refusal(store);
  EXPECT_NE(why.find("process " + std::to_string(living.pid) + " on host here, since 3"), std::string::npos)
      << why;
  EXPECT_NE(why.find("steal"), std::string::npos) << why;
  EXPECT_EQ(lease_in(store), living);
  EXPECT_TRUE(take_warnings().empty());
}

TEST_F(OwnershipOfAName, IsStolenWhereThatIsAskedFor) {
  put(store, living_lease());
  OwnershipRequest request;
  request.steals = true;
  const auto own = Ownership::take(store, "a", request);
  ASSERT_TRUE(own);
  EXPECT_TRUE(own->took_over());
  EXPECT_EQ(lease_in(store)->id, own->id());
  EXPECT_TRUE(warned("as was asked for"));
}

TEST_F(OwnershipOfAName, OfADeadOwnerIsTakenOverAtOnceAndSilently) {
  ::setenv("SHEAF_LEASE_TIMES", "60000,60000", 1);
  put(store, dead_lease());
  const auto own = Ownership::take(store, "a");
  ASSERT_TRUE(own);
  EXPECT_TRUE(own->took_over());
  EXPECT_TRUE(take_warnings().empty());
}

TEST_F(OwnershipOfAName, OfAnotherHostIsWatched) {
  put(store, foreign_lease());
  int looks = 0;
  OwnershipRequest request;
  request.waits = [&](const LeaseView&) {
    format::Lease next = foreign_lease();
    next.counter = static_cast<uint64_t>(++looks);
    put(store, next);
  };
  EXPECT_NE(refusal(store, request).find("process 4711 on host elsewhere"), std::string::npos) << "it moves";
  EXPECT_EQ(looks, 1);

  put(store, foreign_lease());
  const auto begin = std::chrono::steady_clock::now();
  const auto own = Ownership::take(store, "a");
  ASSERT_TRUE(own);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(400));
  EXPECT_TRUE(own->took_over());
  EXPECT_TRUE(warned("no sign of life"));
}

TEST_F(OwnershipOfAName, ThatIsGivenBackWhileItIsWatchedIsNotTakenOver) {
  put(store, foreign_lease());
  OwnershipRequest request;
  request.waits = [&](const LeaseView&) {
    if (lease_in(store)) store.remove("a.lease");
  };
  const auto own = Ownership::take(store, "a", request);
  ASSERT_TRUE(own);
  EXPECT_TRUE(take_warnings().empty());
}

TEST_F(OwnershipOfAName, AProcessTakesOverFromItselfWithAWarning) {
  auto first = Ownership::take(store, "a");
  auto second = Ownership::take(store, "a");
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->took_over());
  EXPECT_TRUE(warned("has not closed it"));
  EXPECT_TRUE(is_lost(*first));
  EXPECT_FALSE(is_lost(*second));
  const uint64_t id = lease_in(store)->id;
  std::this_thread::sleep_for(milliseconds(60));
  EXPECT_EQ(lease_in(store)->id, id) << "the first one raises it no more";
  first.reset();
  EXPECT_TRUE(lease_in(store));
  EXPECT_FALSE(is_lost(*second, LeaseCheck::name));
  second.reset();
  EXPECT_TRUE(store.paths().empty());
}

TEST_F(OwnershipOfAName, AToolDoesNotTakeOverFromItsOwnProcess) {
  const auto own = Ownership::take(store, "a");
  OutputSet outputs(store, OutputSet::Existing::replaced);
  EXPECT_THROW(outputs.own("a"), Error);
  OutputSet others(store, OutputSet::Existing::replaced);
  others.own("b");
  store.set_contents("b", {});
  EXPECT_NO_THROW(others.check("b")) << "its own";
  EXPECT_NO_THROW(others.check("b.000001")) << "of its own set";
}

// A process that was stopped for longer than the timeout must find that it has lost the ownership.
TEST_F(OwnershipOfAName, IsLostOnceTheLeaseIsAnothersOrGone) {
  auto own = Ownership::take(store, "a");
  store.remove("a.lease");
  EXPECT_TRUE(is_lost(*own));
  put(store, foreign_lease());
  const auto problem = attempt([&] { own->require_owned(LeaseCheck::handle); });
  ASSERT_TRUE(problem) << "for ever";
  EXPECT_EQ(problem->code(), Code::foreign);
  own.reset();
  EXPECT_EQ(lease_in(store), foreign_lease()) << "another owner's lease stays";
}

TEST_F(OwnershipOfAName, OfProgramsThatTakeItOverAtOnceOneGetsIt) {
  for (int round = 0; round < 50; ++round) {
    put(store, dead_lease());
    std::atomic<int> owners = 0;
    std::vector<std::shared_ptr<Ownership>> taken(4);
    std::vector<std::thread> threads;
    for (auto& own : taken)
      threads.emplace_back([&] {
        // reopens = false: the threads exclude each other as processes do.
        const auto problem = attempt([&] { own = Ownership::take(store, "a", {.reopens = false}); });
        owners += !problem && own;
        EXPECT_TRUE(take_warnings().empty());
      });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(owners, 1);
    for (auto& own : taken) EXPECT_TRUE(!own || !is_lost(*own, LeaseCheck::name));
    taken.clear();
    EXPECT_TRUE(store.paths().empty());
  }
}

// Decorator of a Store. Another program replaces a dead owner's lease between its check and its removal.
class FasterOther : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    if (access == Access::sidecar && !std::exchange(done_, true)) {
      inner().remove(path);
      put(inner(), living_lease());
    }
    return inner().open(path, access);
  }

 private:
  bool done_ = false;
};

TEST_F(OwnershipOfAName, IsNotTakenAwayFromAFasterProgram) {
  put(store, dead_lease());
  FasterOther faster(store);
  EXPECT_NE(refusal(faster), "");
  EXPECT_EQ(lease_in(store), living_lease());
}

TEST_F(OwnershipOfAName, WhereNoLeaseCanBeMadeThereIsOneWarning) {
  const std::string foreign = "of somebody else";
  store.set_contents("a.lease", std::as_bytes(std::span(foreign)));
  EXPECT_FALSE(Ownership::take(store, "a"));
  EXPECT_TRUE(warned("without a lease"));
  EXPECT_EQ(store.contents("a.lease").size(), foreign.size());
  store.remove("a.lease");
  store.add_directory("a.lease");
  EXPECT_FALSE(Ownership::take(store, "a"));
  EXPECT_TRUE(warned("without a lease"));
  MemoryStore memory;
  FaultPlan always;
  always.fail_at = 0;
  always.from_then_on = true;
  always.errno_value = EACCES;
  FaultyStore read_only(memory, always);
  EXPECT_FALSE(Ownership::take(read_only, "a"));
  EXPECT_TRUE(warned("Permission denied"));
  always.errno_value = ENOENT;
  read_only.set_plan(always);
  EXPECT_FALSE(Ownership::take(read_only, "a")) << "the open itself says so";
  EXPECT_TRUE(take_warnings().empty());
}

TEST_F(OwnershipOfAName, NoFailureOfTheStoreLeavesALeaseOrThrows) {
  for (FaultPlan plan; plan.fail_at < 12; ++plan.fail_at) {
    MemoryStore memory;
    FaultyStore faulty(memory, plan);
    EXPECT_NO_THROW({
      const auto own = Ownership::take(faulty, "a");
      if (own) attempt([&] { own->require_owned(LeaseCheck::name); });
      std::this_thread::sleep_for(milliseconds(30));
    });
    take_warnings();
  }
}

// Decorator of a Store. It is slower than the owner waits for its thread.
class StalledStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  FileSystemTraits traits_of(File& file) override {
    FileSystemTraits traits = ForwardingStore::traits_of(file);
    traits.coherence = Coherence::close_to_open;  // forces a lookup by name
    return traits;
  }
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    if (access == Access::read) {
      begun = true;
      while (!goes_on) std::this_thread::sleep_for(milliseconds(1));
    }
    return inner().open(path, access);
  }
  std::atomic<bool> begun = false, goes_on = false;
};

TEST_F(OwnershipOfAName, IsGivenBackByAThreadThatHangsMeanwhile) {
  StalledStore slow(store);
  auto own = Ownership::take(slow, "a");
  while (!slow.begun) std::this_thread::sleep_for(milliseconds(1));
  own.reset();
  slow.goes_on = true;
  for (int tries = 0; tries < 2000 && !store.paths().empty(); ++tries)
    std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(store.paths().empty());
}

TEST_F(OwnershipOfAName, AForkedChildLeavesItAlone) {
  auto& disk = posix_store();
  const std::string path = "/tmp/sheaf_ownership." + std::to_string(::getpid());
  auto own = Ownership::take(disk, path);
  ASSERT_TRUE(own);
  const pid_t child = ::fork();
  if (child == 0) {
    own.reset();
    ::_exit(attempt([&] { Ownership::take(disk, path); }) ? 0 : 1);  // the parent is alive
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(look_at_lease(disk, path).holder, Holder::living);
  own.reset();
  EXPECT_FALSE(disk.status(path + ".lease").exists);
}

TEST_F(OwnershipOfAName, NamesTheJobOfALeftover) {
  const auto own = Ownership::take(store, "a");
  for (const uint64_t number : {own->id(), own->id() + 1}) {
    const std::string name = temporary_name(store, "a", number);
    store.set_contents(name, {});
    const auto found = find_leftovers(store, "", {name});
    EXPECT_EQ(found.at(0).writer.empty(), number != own->id());
  }
}

// Hosts with separate caches. Each host must detect what the other one did to the lease.
class OwnershipAmongHosts : public OwnershipOfAName {
 protected:
  SimulatedHosts hosts;
  HostsStore here{hosts, 0, 0};
  HostsStore there{hosts, 1, 1};
};

TEST_F(OwnershipAmongHosts, ALeaseIsSeenByAllAtOnce) {
  ::setenv("SHEAF_LEASE_TIMES", "60000,400", 1);
  const auto own = Ownership::take(here, "a");
  ASSERT_TRUE(own);
  EXPECT_EQ(lease_in(there)->id, own->id());
  EXPECT_NE(refusal(there, {.reopens = false}).find("process"), std::string::npos);
}

TEST_F(OwnershipAmongHosts, CostsAlsoALookByNameInTheClose) {
  ::setenv("SHEAF_LEASE_TIMES", "60000,400", 1);
  FaultyStore counted(here);
  auto own = Ownership::take(counted, "a");
  EXPECT_EQ(counted.operations(), 3) << "open, write, publish";
  own->require_owned(LeaseCheck::handle);
  EXPECT_EQ(counted.operations(), 4) << "a flush: a status, which the host answers";
  own->require_owned(LeaseCheck::name);
  EXPECT_EQ(counted.operations(), 7) << "a close: a status, open, read";
  own.reset();
  EXPECT_EQ(counted.operations(), 10) << "status, close, remove";
}

TEST_F(OwnershipAmongHosts, WhatAnotherHostHasTakenOverIsLost) {
  ::setenv("SHEAF_LEASE_TIMES", "60000,400", 1);
  auto own = Ownership::take(here, "a");
  OwnershipRequest request;
  request.steals = true;
  request.reopens = false;
  auto thief = Ownership::take(there, "a", request);
  ASSERT_TRUE(thief);
  EXPECT_TRUE(is_lost(*own, LeaseCheck::name));
  own.reset();
  EXPECT_FALSE(is_lost(*thief, LeaseCheck::name)) << "the lease of the other stays";
  thief.reset();
  EXPECT_TRUE(hosts.paths().empty());
  take_warnings();
}

TEST_F(OwnershipAmongHosts, ATaskLooksTenTimesASecondAndByNameAfterTwoBeats) {
  ::setenv("SHEAF_LEASE_TIMES", "200,60000", 1);
  auto own = Ownership::take(here, "a");
  FaultyStore counted(there);
  const auto right = WritingRight::open(counted, "a", own->id(), false);
  const int64_t opened = counted.operations();
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::steady_clock::now() - begin; };
  int64_t writes = 0;
  for (; passed() < milliseconds(250); ++writes) EXPECT_FALSE(is_lost(*right));
  EXPECT_GT(writes, 100);
  EXPECT_GE(counted.operations() - opened, 1);
  EXPECT_LE(counted.operations() - opened, passed() / milliseconds(100) * 4);
  const auto thief = Ownership::take(here, "a", {.steals = true, .reopens = false});
  std::this_thread::sleep_for(milliseconds(450));
  EXPECT_TRUE(is_lost(*right)) << "it was stopped";
  take_warnings();
}

TEST_F(OwnershipAmongHosts, AHeartbeatIsSeenElsewhere) {
  const auto own = Ownership::take(here, "a");
  const auto begin = lease_in(there)->counter;
  for (int tries = 0; tries < 500 && lease_in(there)->counter < begin + 2; ++tries)
    std::this_thread::sleep_for(milliseconds(10));
  EXPECT_GE(lease_in(there)->counter, begin + 2);
}

}  // namespace
}  // namespace sheaf::test::ownership_test
