// faults: the ways in which a store operation fails, and programs that are run with each failure at every
// operation of one task.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <ostream>

#include "support/accepted.hpp"
#include "support/stores/faulty_store.hpp"

namespace sheaf::test {

struct Fault {
  std::string name;
  FaultPlan plan;
};

// Returns the faults of a sweep. The k-th operation, or every one from the k-th on, reports an error, fails
// after half of a transfer, or ends a read too early.
inline std::vector<Fault> kinds_of_fault() {
  std::vector<Fault> all;
  for (const bool from_then_on : {false, true}) {
    FaultPlan plan;
    plan.from_then_on = from_then_on;
    const std::string when = from_then_on ? "FromThenOn" : "Once";
    for (const auto& [name, number] :
         {std::pair("EIO", EIO), std::pair("ENOSPC", ENOSPC), std::pair("EINTR", EINTR)}) {
      plan.errno_value = number;
      all.push_back({name + when, plan});
    }
    plan.errno_value = ENOSPC;
    plan.half_first = true;
    all.push_back({"ShortTransfer" + when, plan});
    plan.half_first = false;
    plan.ends_early = true;
    all.push_back({"EarlyEnd" + when, plan});
  }
  return all;
}

// Outcome of each call of a program on every task.
class Outcomes {
 public:
  Outcomes(int ntasks, const Fault& fault)
      : accepted(ntasks), ntasks_(ntasks), any_code_(fault.plan.ends_early) {}

  Accepted accepted;  // bytes that writing calls accepted

  // Runs a collective call and returns whether it succeeded. The test fails unless all tasks have the same
  // outcome.
  bool all(int task, const std::string& call, const std::function<void()>& act) {
    return note(collective_[call], task, act);
  }
  // Runs an independent call of `task`. Returns false if this call, or an earlier one of the task, failed.
  bool own(int task, const std::function<void()>& act) { return note(own_[std::to_string(task)], task, act); }

  void expect_one_outcome() const {
    for (const auto& [call, failed] : collective_)
      for (const int other : failed) EXPECT_EQ(other, failed[0]) << call << " failed on some tasks only";
  }
  bool failed(int task) const {
    const auto any = [&](const auto& calls_of) {
      return std::ranges::any_of(
          calls_of, [&](const auto& call) { return call.second[static_cast<size_t>(task)] == 1; });
    };
    return any(collective_) || any(own_);
  }
  // Returns whether a collective call returned successfully.
  bool succeeded(const std::string& call) const {
    const auto found = collective_.find(call);
    return found != collective_.end() && std::ranges::find(found->second, 1) == found->second.end();
  }
  bool any_failed() const {
    for (int t = 0; t < ntasks_; ++t)
      if (failed(t)) return true;
    return false;
  }

 private:
  using PerTask = std::vector<int>;  // 1: failed
  bool note(PerTask& failed, int task, const std::function<void()>& act) const {
    failed.resize(static_cast<size_t>(ntasks_));
    int& mine = failed[static_cast<size_t>(task)];
    if (const auto error = attempt(act)) {
      EXPECT_TRUE(any_code_ || error->code() == Code::io || error->code() == Code::no_space) << error->what();
      mine = 1;
    }
    return mine == 0;
  }
  int ntasks_;
  bool any_code_;  // accepts any error code, because a truncated file may cause any of them
  std::map<std::string, PerTask> collective_, own_;
};

struct FaultyProgram {
  std::string name;
  int ntasks = 1;
  bool reads = true;    // a read that ends early is an error, because the files are complete
  bool notices = true;  // the program must report every failing operation
  std::function<void(MemoryStore&)> make = {};                    // creates the files that exist beforehand
  std::function<void(Comm&, Store&, Outcomes&)> body = {};        // program of one task
  std::function<void(MemoryStore&, const Outcomes&)> check = {};  // checks the remaining files
};
inline std::ostream& operator<<(std::ostream& out, const FaultyProgram& p) { return out << p.name; }
inline std::ostream& operator<<(std::ostream& out, const Fault& f) { return out << f.name; }

// Returns whether only operations on leases failed: a lease that cannot be created or removed causes a
// warning, not an error.
inline bool only_leases_failed(const FaultyStore& store) {
  const auto log = store.log();
  return std::ranges::none_of(
      log, [](const OperationRecord& o) { return o.failed && !o.path.ends_with(".lease"); });
}

// Runs every program with every fault at each operation of the first and of the last task. Requires that each
// collective call has one outcome on all tasks, that no task hangs, that no file stays open, and that the
// remaining files are correct.
class FaultTable : public ::testing::TestWithParam<std::tuple<FaultyProgram, Fault>> {
 protected:
  static void sweep(const FaultyProgram& program, const Fault& fault) {
    if (fault.plan.ends_early && !program.reads) return;
    for (const int victim : std::set{0, program.ntasks - 1}) {
      FaultPlan plan = fault.plan;
      for (plan.fail_at = 0;; ++plan.fail_at) {
        SCOPED_TRACE("operation " + std::to_string(plan.fail_at) + " of task " + std::to_string(victim));
        MemoryStore memory;
        if (program.make) program.make(memory);
        FaultyStore faulty(memory, plan);
        TaskHandles broken(faulty), sound(memory);
        Outcomes outcomes(program.ntasks, fault);
        ASSERT_NO_THROW(run_fibers(fibers(program.ntasks), [&](Comm& comm) {
          program.body(comm, comm.rank() == victim ? static_cast<Store&>(broken) : sound, outcomes);
        }));
        EXPECT_EQ(broken.open_files() + sound.open_files(), 0u);
        outcomes.expect_one_outcome();
        if (faulty.failed() == 0) {
          EXPECT_FALSE(outcomes.any_failed());
        } else if (program.notices && !plan.ends_early && !only_leases_failed(faulty)) {
          EXPECT_TRUE(outcomes.any_failed()) << describe(faulty);
        }
        program.check(memory, outcomes);
        if (::testing::Test::HasFailure()) {
          ADD_FAILURE() << describe(faulty);
          return;
        }
        if (faulty.failed() == 0) break;
        ASSERT_LT(plan.fail_at, 2000);
      }
    }
  }

 private:
  static std::string describe(const FaultyStore& store) {
    std::string text = "the operations were:";
    for (const OperationRecord& r : store.log())
      text += "\n  " + std::string(name_of(r.kind)) + ' ' + r.path + ' ' + std::to_string(r.offset) + ' ' +
              std::to_string(r.length);
    return text;
  }
};

inline std::string name_of_case(const ::testing::TestParamInfo<FaultTable::ParamType>& info) {
  return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name;
}

// Returns the bytes of every stream of the multifile `path`, by default "a".
inline std::vector<std::vector<std::byte>> streams_of(Store& store, const std::string& path = "a") {
  multifile::Reader all(store, path, mode_of("r"));
  std::vector<std::vector<std::byte>> streams;
  for (int64_t t = 0; t < all.ntasks(); ++t) {
    all.select(t);
    std::vector<std::byte> bytes(static_cast<size_t>(all.stream().sizes().total()));
    bytes.resize(all.stream().read(bytes));
    streams.push_back(std::move(bytes));
  }
  return streams;
}

}  // namespace sheaf::test
