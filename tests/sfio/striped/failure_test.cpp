// Failures: dead listeners, failing disks, and subfiles that are missing, too short or of another file.
#include "cluster.hpp"

namespace sheaf::test::failure_test {
namespace {

using sfio::ErrorCounts;
using sfio::Request;
using sfio::RequestKind;
using sfio::Service;
using sfio::SubfileOpenMode;

constexpr int64_t unit = 10;

void make_file(StripedCluster& cluster, int64_t bytes = 95, int64_t stripe_unit = unit) {
  cluster.run([&](StripedCluster::ComputeTask& task) {
    if (task.comm.rank() > 0) return;
    const auto file = open_named(task, name_on(cluster.listeners, cluster.listeners), stripe_unit);
    write_text(*file, 0, std::string(static_cast<size_t>(bytes), 'x'));
    file->close();
  });
  cluster.is_over = false;
}

// Opens and closes a file. Returns the code of the error and sets `message` to its text.
Code open_again(StripedCluster& cluster, const std::string& name, int64_t stripe_unit, std::string& message,
                SubfileOpenMode mode = SubfileOpenMode::create) {
  Code code = Code::ok;
  cluster.run([&](StripedCluster::ComputeTask& task) {
    if (task.comm.rank() > 0) return;
    code = code_of([&] { open_named(task, name, stripe_unit, mode)->close(); }, &message);
  });
  cluster.is_over = false;
  return code;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(StripedFailure, AnotherStripeUnitIsRefused) {
  StripedCluster cluster(1, 3);
  make_file(cluster);
  std::string message;
  EXPECT_EQ(open_again(cluster, name_on(3, 3), 11, message), Code::mismatch);
  EXPECT_TRUE(has(message, "stripe unit of 10 bytes, not 11") && has(message, "host0") &&
              has(message, "/f.dat"))
      << message;
  EXPECT_EQ(open_again(cluster, name_on(3, 3), 0, message), Code::ok);
}

TEST(StripedFailure, AnotherOrderIsRefused) {
  StripedCluster cluster(1, 3);
  make_file(cluster);
  std::string message;
  EXPECT_EQ(open_again(cluster, "host0,/f.dat;host2,/f.dat;host1,/f.dat;", unit, message), Code::mismatch);
  EXPECT_TRUE(has(message, "is subfile 2") && has(message, "number 1") && has(message, "host2")) << message;
  EXPECT_EQ(open_again(cluster, "host1,/f.dat;host0,/f.dat;host2,/f.dat;", unit, message), Code::mismatch);
}

TEST(StripedFailure, AnotherNumberOfSubfilesIsRefused) {
  StripedCluster cluster(1, 3);
  make_file(cluster);
  std::string message;
  EXPECT_EQ(open_again(cluster, "host0,/f.dat;host1,/f.dat;", unit, message), Code::mismatch);
  EXPECT_TRUE(has(message, "one of 3 subfiles")) << message;
}

TEST(StripedFailure, SubfilesOfTwoFilesAreRefused) {
  StripedCluster cluster(1, 2);
  make_file(cluster);
  std::string message;
  EXPECT_EQ(open_again(cluster, "host0,/g.dat;host1,/g.dat;", unit, message), Code::ok);
  EXPECT_EQ(open_again(cluster, "host0,/f.dat;host1,/g.dat;", unit, message), Code::mismatch);
  EXPECT_TRUE(has(message, "another striped file") && has(message, "host1")) << message;
}

TEST(StripedFailure, AMissingSubfileIsNamed) {
  for (int lost = 0; lost < 3; ++lost) {
    for (const bool with_identity : {true, false}) {
      StripedCluster cluster(1, 3);
      make_file(cluster);
      cluster.disks[static_cast<size_t>(lost)]->remove("/f.dat");
      if (with_identity) cluster.disks[static_cast<size_t>(lost)]->remove("/f.dat.sfio");
      std::string message;
      EXPECT_EQ(open_again(cluster, name_on(3, 3), unit, message), Code::not_found);
      EXPECT_TRUE(has(message, host(lost)) && has(message, "/f.dat") && has(message, "missing")) << message;
      // The open must create no file in its place, and leave the others unchanged.
      EXPECT_FALSE(cluster.disks[static_cast<size_t>(lost)]->status("/f.dat").exists);
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(i == lost || cluster.contents(i).size() >= 30);
    }
  }
}

TEST(StripedFailure, AShortSubfileIsNamed) {
  StripedCluster cluster(1, 3);
  make_file(cluster);
  cluster.disks[1]->open("/f.dat", Access::write)->resize(29);
  std::string message;
  EXPECT_EQ(open_again(cluster, name_on(3, 3), unit, message), Code::damaged);
  EXPECT_TRUE(has(message, "host1") && has(message, "short: it has 29 of 30 bytes")) << message;
}

TEST(StripedFailure, ALostOrDamagedIdentityIsNamed) {
  StripedCluster cluster(1, 2);
  make_file(cluster);
  auto bytes = cluster.disks[1]->contents("/f.dat.sfio");
  bytes[35] ^= std::byte{1};
  cluster.disks[1]->set_contents("/f.dat.sfio", bytes);
  std::string message;
  EXPECT_EQ(open_again(cluster, name_on(2, 2), unit, message), Code::damaged);
  EXPECT_TRUE(has(message, "host1") && has(message, "/f.dat.sfio")) << message;
  cluster.disks[1]->remove("/f.dat.sfio");
  EXPECT_EQ(open_again(cluster, name_on(2, 2), unit, message), Code::damaged);
  EXPECT_TRUE(has(message, "host1") && has(message, "lost its identity")) << message;
}

std::vector<std::string> all_files(const StripedCluster& cluster) {
  std::vector<std::string> all;
  for (const auto& disk : cluster.disks)
    for (const std::string& path : disk->paths()) all.push_back(path);
  return all;
}

// Fails each operation of each listener's store in turn, in both modes that create files. The open must leave
// no new file and remove no existing one.
TEST(StripedFailure, AFailedOpenOfANewFileLeavesNothing) {
  for (const SubfileOpenMode mode : {SubfileOpenMode::create, SubfileOpenMode::fresh})
    for (int listener = 0; listener < 3; ++listener) {
      int64_t failures = 0;
      for (int64_t k = 0;; ++k) {
        SCOPED_TRACE("listener " + std::to_string(listener) + ", operation " + std::to_string(k));
        StripedCluster cluster(1, 3);
        for (const auto& disk : cluster.disks) disk->set_contents("/other", {});
        FaultyStore& faulty = *cluster.stores[static_cast<size_t>(listener)];
        Code opened = Code::ok;
        int64_t failed = 0;
        cluster.run([&](StripedCluster::ComputeTask& task) {
          FaultPlan plan;
          plan.fail_at = k;
          plan.errno_value = ENOSPC;
          faulty.set_plan(plan);
          std::unique_ptr<StripedFile> file;
          opened = code_of([&] { file = open_named(task, name_on(3, 3), unit, mode); });
          failed = faulty.failed();
          faulty.set_plan({});
          if (file) file->close();
        });
        if (failed == 0) break;
        if (opened == Code::ok) continue;
        ++failures;
        EXPECT_EQ(all_files(cluster), std::vector<std::string>(3, "/other"));
      }
      EXPECT_GE(failures, 5);
    }
}

// One listener stays broken, so its new files cannot be removed. All other listeners must remove theirs, and
// the next open must succeed.
TEST(StripedFailure, AFailedOpenLeavesNothingOnOtherListeners) {
  for (int64_t k = 0; k < 8; ++k) {
    StripedCluster cluster(1, 3);
    cluster.run([&](StripedCluster::ComputeTask& task) {
      FaultPlan plan;
      plan.fail_at = k;
      plan.from_then_on = true;
      cluster.stores[2]->set_plan(plan);
      const Code opened = code_of([&] { open_named(task, name_on(3, 3), unit); });
      // If the broken disk keeps its file, subfile 0 must stay: without it, that file would block the next
      // open.
      const bool left = !cluster.disks[2]->paths().empty();
      EXPECT_TRUE(opened == Code::ok ||
                  (cluster.disks[0]->paths().empty() != left && cluster.disks[1]->paths().empty()))
          << k;
      cluster.stores[2]->set_plan({});
      EXPECT_EQ(code_of([&] { open_named(task, name_on(3, 3), unit)->close(); }), Code::ok) << k;
    });
  }
}

TEST(StripedFailure, AFailedOpenLeavesWhatItHasNotMade) {
  StripedCluster cluster(1, 3);
  cluster.disks[0]->set_contents("/f.dat", {});  // an empty file counts as a new subfile
  cluster.disks[2]->set_contents("/f.dat", std::vector<std::byte>(3));
  std::string message;
  EXPECT_NE(open_again(cluster, name_on(3, 3), unit, message), Code::ok);
  EXPECT_EQ(all_files(cluster), (std::vector<std::string>{"/f.dat", "/f.dat"}));
  StripedCluster other(1, 3);
  make_file(other);
  other.disks[1]->remove("/f.dat.sfio");
  const auto before = all_files(other);
  EXPECT_NE(open_again(other, name_on(3, 3), unit, message), Code::ok);
  EXPECT_EQ(all_files(other), before);
}

// Another task has opened the file before the first task aborts its open. The abort must leave the file.
TEST(StripedFailure, AFailedOpenLeavesWhatOthersUse) {
  MemoryStore store;
  Service service(store, "", 1 << 16);
  format::StripeIdentity identity;
  identity.file = {1, 2};
  identity.unit = unit;
  identity.count = 1;
  const auto open = [&] {
    Request request;
    request.kind = RequestKind::open;
    request.values = {static_cast<int64_t>(SubfileOpenMode::create), 1};
    request.path = "/f";
    request.more = format::to_bytes(identity);
    return service.carry_out(request, {}).values[0];
  };
  const auto close = [&](int64_t handle, bool gives_up) {
    Request request;
    request.kind = RequestKind::close;
    request.handle = handle;
    request.values = {-1, gives_up};
    EXPECT_EQ(service.carry_out(request, {}).code, 0);
  };
  const int64_t first = open();
  const int64_t second = open();
  close(first, true);
  EXPECT_EQ(store.paths().size(), 2u);
  close(second, false);
  EXPECT_EQ(store.paths().size(), 2u);
  close(open(), true);
  EXPECT_EQ(store.paths().size(), 2u) << "made earlier";
  store.remove("/f");
  store.remove("/f.sfio");
  const int64_t third = open();
  const int64_t fourth = open();
  close(third, true);
  close(fourth, true);
  EXPECT_TRUE(store.paths().empty()) << "nobody wanted it";
}

TEST(StripedFailure, OpenModes) {
  StripedCluster cluster(1, 2);
  std::string message;
  EXPECT_EQ(open_again(cluster, name_on(2, 2), unit, message, SubfileOpenMode::read), Code::not_found);
  EXPECT_EQ(open_again(cluster, name_on(2, 2), unit, message, SubfileOpenMode::write), Code::not_found);
  EXPECT_EQ(open_again(cluster, name_on(2, 2), unit, message, SubfileOpenMode::fresh), Code::ok);
  EXPECT_EQ(open_again(cluster, name_on(2, 2), unit, message, SubfileOpenMode::fresh), Code::io);
  EXPECT_EQ(open_again(cluster, name_on(2, 2), unit, message, SubfileOpenMode::write), Code::ok);
  EXPECT_EQ(open_again(cluster, "nowhere,/f;", unit, message), Code::not_found);
  EXPECT_TRUE(has(message, "nowhere") && has(message, "host0, host1")) << message;
  cluster.run([&](StripedCluster::ComputeTask& task) {
    const auto file = open_named(task, name_on(2, 2), unit, SubfileOpenMode::read);
    EXPECT_EQ(code_of([&] { write_text(*file, 0, "a"); }), Code::wrong_mode);
    EXPECT_EQ(code_of([&] { file->resize(7); }), Code::wrong_mode);
    file->close();
  });
}

TEST(StripedFailure, AFullDiskIsAnErrorForItsPartsOnly) {
  StripedCluster cluster(2, 3);
  cluster.run([&](StripedCluster::ComputeTask& task) {
    std::unique_ptr<StripedFile> file;
    if (task.comm.rank() == 0) file = open_named(task, name_on(3, 3), unit);
    task.comm.barrier();
    if (task.comm.rank() == 1) file = open_named(task, name_on(3, 3), unit);
    FaultPlan full;
    full.fail_at = 0;
    full.from_then_on = true;
    full.errno_value = ENOSPC;
    full.kind = StoreOperation::write;
    full.path_contains = "/f.dat";
    cluster.stores[1]->set_plan(full);
    task.comm.barrier();
    std::string message;
    EXPECT_EQ(code_of([&] { write_text(*file, 100 * task.comm.rank(), std::string(60, 'y')); }, &message),
              Code::no_space);
    EXPECT_TRUE(has(message, "host1") && has(message, "/f.dat")) << message;
    task.comm.barrier();
    EXPECT_EQ(read_text(*file, 0, 10), std::string(10, 'y'));   // subfile 0
    EXPECT_EQ(read_text(*file, 20, 10), std::string(10, 'y'));  // subfile 2
    task.comm.barrier();
    cluster.stores[1]->set_plan({});
    write_text(*file, 100 * task.comm.rank(), std::string(60, 'z'));
    task.comm.barrier();
    EXPECT_EQ(read_text(*file, 0, 60), std::string(60, 'z'));
    task.comm.barrier();
    file->close();
  });
}

// For every k, the k-th operation of one listener's disk fails. A write, a read or a close must fail or leave
// the correct file. Data of the other listeners must be correct in any case.
TEST(StripedFailure, EveryOperationOfADisk) {
  for (const bool from_then_on : {false, true})
    for (const bool half : {false, true})
      for (int64_t k = 0;; ++k) {
        SCOPED_TRACE("operation " + std::to_string(k));
        StripedCluster cluster(2, 3);
        FaultPlan plan;
        plan.fail_at = k;
        plan.from_then_on = from_then_on;
        plan.half_first = half;
        cluster.stores[1]->set_plan(plan);
        int failures = 0;
        cluster.run([&](StripedCluster::ComputeTask& task) {
          std::string message;
          const auto guarded = [&](const std::function<void()>& call) {
            const Code code = code_of(call, &message);
            if (code == Code::ok) return true;
            EXPECT_TRUE(code == Code::io || code == Code::damaged || code == Code::not_found)
                << name_of(code) << message;
            EXPECT_TRUE(has(message, "host1")) << message;
            ++failures;
            return false;
          };
          std::unique_ptr<StripedFile> file;
          for (int turn = 0; turn < 2; ++turn) {
            if (turn == task.comm.rank()) guarded([&] { file = open_named(task, name_on(3, 3), unit); });
            task.comm.barrier();
          }
          bool written = false;
          if (file) {
            written = guarded([&] { write_text(*file, 60 * task.comm.rank(), std::string(60, 'y')); });
            guarded([&] {
              const std::string found = read_text(*file, 60 * task.comm.rank(), 60);
              EXPECT_TRUE(!written || found == std::string(60, 'y'));
            });
          }
          task.comm.barrier();
          if (file) guarded([&] { file->close(); });
        });
        const bool met = cluster.stores[1]->failed() > 0;
        EXPECT_EQ(failures > 0, met);
        for (const int other : {0, 2}) {
          if (!cluster.disks[static_cast<size_t>(other)]->status("/f.dat").exists) continue;
          EXPECT_EQ(cluster.contents(other).find_first_not_of(std::string("y\0", 2)), std::string::npos);
        }
        if (!met) break;
        ASSERT_LT(k, 200);
      }
}

TEST(StripedFailure, ErrorsAreCountedByKindAndForgottenWhenTold) {
  StripedCluster cluster(1, 2);
  cluster.run([&](StripedCluster::ComputeTask& task) {
    const auto file = open_named(task, name_on(2, 2), unit);
    FaultPlan plan;
    plan.fail_at = 0;
    plan.from_then_on = true;
    plan.path_contains = "/f.dat";
    cluster.stores[0]->set_plan(plan);
    code_of([&] { write_text(*file, 0, "abc"); });
    code_of([&] { write_text(*file, 0, "abc"); });
    code_of([&] { read_text(*file, 0, 3); });
    code_of([&] { file->resize(3); });
    const auto told = [&] {
      Request request;
      request.kind = RequestKind::errors;
      return ask(*task.link, {{0, request}})[0].values;
    };
    EXPECT_EQ(told(), (ErrorCounts{0, 0, 0, 0, 1, 0, 2, 1}));
    EXPECT_EQ(told(), ErrorCounts{});
    cluster.stores[0]->set_plan({});
    file->close();
  });
}

TEST(StripedFailure, ADeadListenerIsAnErrorInBoundedTimeForEveryTask) {
  for (int dies_in = 0; dies_in < 6; ++dies_in) {
    StripedCluster cluster(3, 3);
    cluster.timeout = 20;
    double longest = 0;
    cluster.run([&](StripedCluster::ComputeTask& task) {
      std::unique_ptr<StripedFile> file = open_named(task, name_on(3, 3), unit);
      task.comm.barrier();
      if (task.comm.rank() == 0) task.network.kill_at_message(cluster.task_of_listener(1), dies_in);
      task.comm.barrier();
      std::string message;
      Code code = Code::ok;
      const double begin = task.network.now();
      for (int round = 0; code == Code::ok && round < 4; ++round)
        code = code_of([&] { write_text(*file, 90 * task.comm.rank(), std::string(90, 'y')); }, &message);
      longest = std::max(longest, task.network.now() - begin);
      EXPECT_EQ(code, Code::io);
      EXPECT_TRUE(has(message, "host1") && has(message, "gone") && has(message, "'/f.dat'")) << message;
      // Later calls fail at once, and the other listeners still serve.
      const double later = task.network.now();
      EXPECT_EQ(code_of([&] { read_text(*file, 10, 5); }), Code::io);
      EXPECT_EQ(task.network.now(), later);
      write_text(*file, 90 * task.comm.rank(), std::string(10, 'w'));
      EXPECT_EQ(read_text(*file, 90 * task.comm.rank(), 10), std::string(10, 'w'));
      EXPECT_EQ(code_of([&] { file->close(); }), Code::io);
    });
    EXPECT_LT(longest, 30);
    EXPECT_EQ(cluster.contents(0).find_first_not_of(std::string("yw\0", 3)), std::string::npos);
  }
}

// A store that is slow to return the status of `path`.
class SlowStatusStore final : public Store {
 public:
  SlowStatusStore(Store& store, FiberNetwork& network) : store_(store), network_(network) {}
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    return store_.open(path, access);
  }
  FileStatus status(const std::string& path) override {
    if (path == "/slow") network_.spend(30);
    return store_.status(path);
  }
  void remove(const std::string& path) override { store_.remove(path); }
  void rename(const std::string& from, const std::string& to) override { store_.rename(from, to); }

 private:
  Store& store_;
  FiberNetwork& network_;
};

// A batch system stops the job for a while, so the listener cannot answer. It must not be reported as dead.
TEST(StripedFailure, AListenerIsNotGoneBecauseItsClientDidNotLookForLong) {
  StripedCluster cluster(1, 1);
  cluster.timeout = 20;
  std::unique_ptr<SlowStatusStore> disk;
  const auto body = [&](StripedCluster::ComputeTask& task) {
    Request request;
    request.kind = RequestKind::status;
    request.path = "/slow";
    const auto call = task.link->start(0, request, {});
    task.network.spend(25);
    for (const double begin = task.link->now(); !call->done();) task.link->back_off(task.link->now() - begin);
    EXPECT_EQ(call->answer().code, 0);
    EXPECT_GE(task.network.now(), 30);
  };
  cluster.run(body, [&](FiberNetwork& network, int) {
    disk = std::make_unique<SlowStatusStore>(*cluster.disks[0], network);
    return disk.get();
  });
}

// A workplace in which each job takes `seconds`. The listener polls its messages during a job.
class SlowPlace final : public sfio::Workplace {
 public:
  SlowPlace(FiberNetwork& network, const double& seconds) : network_(network), seconds_(seconds) {}
  void carry_out(const std::function<void()>& job, const std::function<void()>& meanwhile) override {
    job();
    for (const double until = network_.now() + seconds_; network_.now() < until; meanwhile())
      network_.spend(1);
  }

 private:
  FiberNetwork& network_;
  const double& seconds_;
};

TEST(StripedFailure, AListenerThatSyncsForMinutesLivesForWhoWaitsAndForWhoWaitsBehind) {
  StripedCluster cluster(3, 2);
  cluster.timeout = 20;
  double seconds = 0;
  cluster.place_of = [&](FiberNetwork& network, int) {
    return std::make_unique<SlowPlace>(network, seconds);
  };
  cluster.run([&](StripedCluster::ComputeTask& task) {
    const auto file = open_named(task, name_on(2, 2), unit);
    write_text(*file, 90 * task.comm.rank(), std::string(90, 'y'));
    task.comm.barrier();
    seconds = 150;
    const double begin = task.network.now();
    EXPECT_EQ(code_of([&] { file->sync(); }), Code::ok);
    EXPECT_GT(task.network.now() - begin, 100);
    task.comm.barrier();
    seconds = 0;
    EXPECT_EQ(read_text(*file, 90 * task.comm.rank(), 90), std::string(90, 'y'));
    EXPECT_EQ(code_of([&] { file->close(); }), Code::ok);
  });
}

TEST(StripedFailure, AListenerThatDiesInALongSyncIsFoundInBoundedTime) {
  StripedCluster cluster(2, 2);
  cluster.timeout = 20;
  double seconds = 0;
  cluster.place_of = [&](FiberNetwork& network, int) {
    return std::make_unique<SlowPlace>(network, seconds);
  };
  cluster.run([&](StripedCluster::ComputeTask& task) {
    const auto file = open_named(task, name_on(2, 2), unit);
    write_text(*file, 90 * task.comm.rank(), std::string(90, 'y'));
    task.comm.barrier();
    seconds = 300;
    const double begin = task.network.now();
    if (task.comm.rank() == 1) {
      task.network.spend(100);
      task.network.kill(cluster.task_of_listener(1));
      task.network.kill(cluster.task_of_listener(0));
      seconds = 0;
    } else {
      std::string message;
      EXPECT_EQ(code_of([&] { file->sync(); }, &message), Code::io);
      EXPECT_TRUE(has(message, "gone") && has(message, "20 s") && has(message, "'/f.dat'")) << message;
      EXPECT_GT(task.network.now() - begin, 100);
      EXPECT_LT(task.network.now() - begin, 130);
    }
    task.comm.barrier();
    EXPECT_EQ(code_of([&] { file->close(); }), Code::io);
  });
}

TEST(StripedFailure, WhatWasNotClosedCanBeOpenedAndIsNotShort) {
  StripedCluster cluster(1, 2);
  make_file(cluster, 95);
  cluster.run([&](StripedCluster::ComputeTask& task) {
    const auto file = open_named(task, name_on(2, 2), unit);
    write_text(*file, 300, "end");  // and the program dies
  });
  cluster.is_over = false;
  cluster.run([&](StripedCluster::ComputeTask& task) {
    const auto file = open_named(task, name_on(2, 2), unit);
    EXPECT_EQ(file->status().size, 303);
    file->close();
  });
  EXPECT_EQ(cluster.contents(1).size(), 150u);
}

TEST(StripedFailure, ACreationThatWasInterruptedGoesOn) {
  for (int64_t k = 0;; ++k) {
    StripedCluster cluster(1, 2);
    FaultPlan plan;
    plan.fail_at = k;
    plan.from_then_on = true;
    cluster.stores[k % 2 ? 0 : 1]->set_plan(plan);
    plan.fail_at = k / 2;
    cluster.stores[k % 2 ? 0 : 1]->set_plan(plan);
    std::string message;
    const Code code = open_again(cluster, name_on(2, 2), unit, message);
    for (auto& store : cluster.stores) store->set_plan({});
    EXPECT_EQ(open_again(cluster, name_on(2, 2), unit, message), Code::ok) << k << " " << message;
    if (code == Code::ok) break;
    ASSERT_LT(k, 100);
  }
}

}  // namespace
}  // namespace sheaf::test::failure_test
