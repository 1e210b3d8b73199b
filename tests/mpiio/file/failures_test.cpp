// Failures on one task. Whatever fails, and whenever, all tasks must return the error, no task may hang, and
// the next call must work.
#include <gtest/gtest.h>

#include <optional>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "mpiio/file/model.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::failures_test {

using namespace mpiio;

namespace {

using layout::TypeMap;

constexpr int tasks = 4;
constexpr int64_t record = 24;
constexpr int64_t records = 200;

struct TransferKind {
  const char* name;
  bool writes;
  bool gaps;
  Choice exchange;
  int per_node;
  std::optional<ExchangeMethod> data = std::nullopt;
};

View view_of(const Comm& comm, bool gaps) {
  View view;
  view.displacement = record * comm.rank();
  view.filetype = TypeMap::bytes(record).resized(0, record * (tasks + (gaps ? 1 : 0)));
  return view;
}

// Makes one call. Returns the exception of each task, or null for a task that succeeded.
std::vector<std::exception_ptr> call(FaultyStore& store, const TransferKind& kind, const FaultPlan& plan,
                                     int failing = -1) {
  std::vector<std::exception_ptr> outcomes(tasks);
  run_fibers({.ranks = tasks, .stack_bytes = 128 << 10, .ranks_per_node = kind.per_node}, [&](Comm& comm) {
    Hints hints;
    hints.collective_write = hints.collective_read = kind.exchange;
    hints.buffer_size = 1000;
    hints.data = kind.data;
    const auto file = SharedFile::open(comm.duplicate(), store, "file",
                                       {.read = true, .write = true, .create = true}, hints);
    const View view = view_of(comm, kind.gaps);
    std::vector<std::byte> memory(record * records, static_cast<std::byte>(comm.rank() + 1));
    int fails = failing;
    const auto transfer = [&] {
      if (fails == comm.rank()) {
        return file->fail_all(file->sequence(), Error(Code::no_space, "a failure of its own"));
      }
      if (kind.writes) {
        file->write_at_all(file->sequence(), view, 0, {memory.data(), TypeMap::bytes(1), std::ssize(memory)});
      } else {
        file->read_at_all(file->sequence(), view, 0, {memory.data(), TypeMap::bytes(1), std::ssize(memory)});
      }
    };
    comm.barrier();
    if (comm.rank() == 0) store.set_plan(plan);
    comm.barrier();
    try {
      transfer();
    } catch (...) {
      outcomes[static_cast<size_t>(comm.rank())] = std::current_exception();
    }
    comm.barrier();
    if (comm.rank() == 0 && !plan.from_then_on && plan.fail_at >= 0) store.set_plan({});
    comm.barrier();
    if (failing >= 0 || plan.fail_at >= 0) {
      fails = -1;
      EXPECT_NO_THROW(transfer()) << "after the failure";
    }
    file->close();
  });
  return outcomes;
}

void expect_all_failed(const std::vector<std::exception_ptr>& outcomes, Code code) {
  for (const auto& outcome : outcomes) {
    ASSERT_TRUE(outcome) << "a task returned although another failed";
    try {
      std::rethrow_exception(outcome);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
    }
  }
}

class Failures : public testing::TestWithParam<TransferKind> {};

// Fails one operation after another, until a run meets no failure.
void sweep(const TransferKind& kind, size_t bytes_before) {
  for (int64_t k = 0;; ++k) {
    SCOPED_TRACE("operation " + std::to_string(k));
    MemoryStore memory;
    memory.set_contents("file", std::vector<std::byte>(bytes_before));
    FaultyStore store(memory);
    FaultPlan plan;
    plan.fail_at = k;
    plan.errno_value = ENOSPC;
    plan.kind = kind.writes ? StoreOperation::write : StoreOperation::read;
    const auto outcomes = call(store, kind, plan);
    if (store.failed() == 0) {
      EXPECT_GT(k, 0);
      for (const auto& outcome : outcomes) EXPECT_FALSE(outcome);
      return;
    }
    expect_all_failed(outcomes, Code::no_space);
    if (testing::Test::HasFatalFailure() || k > 2000) return;
  }
}

TEST_P(Failures, OfAnyFileOperationReachAllTasks) { sweep(GetParam(), record * records * (tasks + 1)); }

// The file grows, so a task may first write at the end of the range. That write may fail, too.
TEST(FailuresWhereTheFileGrows, OfAnyFileOperationReachAllTasks) {
  sweep({"write", true, false, Choice::enabled, 100}, 0);
}

TEST_P(Failures, OfOneTaskBeforeTheTransferReachAllTasks) {
  const TransferKind kind = GetParam();
  for (int task = 0; task < tasks; ++task) {
    MemoryStore memory;
    memory.set_contents("file", std::vector<std::byte>(record * records * (tasks + 1)));
    FaultyStore store(memory);
    expect_all_failed(call(store, kind, {}, task), Code::no_space);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Failures,
    testing::Values(
        TransferKind{"write", true, false, Choice::enabled, 100},
        TransferKind{"write_gaps", true, true, Choice::enabled, 100},
        TransferKind{"write_independent", true, false, Choice::disabled, 100},
        TransferKind{"write_nodes", true, true, Choice::enabled, 2},
        TransferKind{"write_alltoallv", true, true, Choice::enabled, 2, ExchangeMethod::alltoallv},
        TransferKind{"write_neighbours", true, true, Choice::enabled, 2, ExchangeMethod::neighbours},
        TransferKind{"read", false, false, Choice::enabled, 100},
        TransferKind{"read_gaps", false, true, Choice::enabled, 100},
        TransferKind{"read_independent", false, false, Choice::disabled, 100},
        TransferKind{"read_nodes", false, true, Choice::enabled, 2},
        TransferKind{"read_alltoallv", false, true, Choice::enabled, 2, ExchangeMethod::alltoallv},
        TransferKind{"read_neighbours", false, true, Choice::enabled, 2, ExchangeMethod::neighbours}),
    [](const auto& p) { return std::string(p.param.name); });

TEST(SharedFile, RefusesWhatTheModeForbidsOnAllTasks) {
  MemoryStore store;
  store.set_contents("file", {});
  const auto outcomes = run_fibers_collect({.ranks = 3, .stack_bytes = 128 << 10}, [&](Comm& comm) {
    const auto file = SharedFile::open(comm.duplicate(), store, "file", {.read = true});
    std::byte one{};
    EXPECT_THROW(file->write_at_all(file->sequence(), {}, 0, {&one, TypeMap::bytes(1), 1}), Error);
    EXPECT_THROW(file->resize(5), Error);
    EXPECT_THROW(file->set_view({.displacement = -1}), Error);
    file->close();
  });
  for (const auto& outcome : outcomes) EXPECT_FALSE(outcome);
}

// One task rejects its view. All other tasks must get the error from the next collective transfer, which must
// move no data.
TEST(SharedFile, AViewRefusedOnOneTaskFailsTheNextTransferOnAll) {
  MemoryStore store;
  run_fibers({.ranks = 3, .stack_bytes = 128 << 10}, [&](Comm& comm) {
    const auto file =
        SharedFile::open(comm.duplicate(), store, "file", {.read = true, .write = true, .create = true});
    const auto deferred = SharedFile::Agreed::deferred;
    const bool bad = comm.rank() == 1;
    auto mine = static_cast<std::byte>(comm.rank() + 1);
    const auto write = [&] {
      file->write_at_all(file->sequence(), *file->view(), comm.rank(), {&mine, TypeMap::bytes(1), 1});
    };
    const auto read = [&] {
      file->read_at_all(file->sequence(), *file->view(), comm.rank(), {&mine, TypeMap::bytes(1), 1});
    };
    const auto refuse = [&] {
      const auto failed = attempt([&] { file->set_view({.displacement = bad ? -1 : 5}, deferred); });
      EXPECT_EQ(failed.has_value(), bad);
    };
    const auto fails = [&](auto transfer) {
      const auto failed = attempt(transfer);
      ASSERT_TRUE(failed);
      EXPECT_EQ(failed->code(), Code::invalid_argument);
      EXPECT_NE(std::string(failed->what()).find("task 1 was refused a view of 'file'"), std::string::npos)
          << failed->what();
    };
    refuse();
    fails(write);
    EXPECT_EQ(file->bytes(), 0);
    refuse();
    fails(read);
    refuse();
    file->set_view({.displacement = 2}, deferred);  // all tasks set a new view, which clears the error
    write();
    refuse();
    const auto failed = attempt([&] { file->fail_all(file->sequence(), Error(Code::io, "something else")); });
    EXPECT_TRUE(failed);
    file->set_view({}, SharedFile::Agreed::immediate);
    comm.barrier();
    EXPECT_EQ(file->bytes(), 5);
    read();
    file->close();
  });
}

TEST(SharedFile, OpensOnAllTasksOrOnNone) {
  MemoryStore store;
  store.set_contents("there", {});
  run_fibers({.ranks = 3, .stack_bytes = 128 << 10}, [&](Comm& comm) {
    EXPECT_THROW(SharedFile::open(comm.duplicate(), store, "missing", {.read = true}), Error);
    EXPECT_THROW(SharedFile::open(comm.duplicate(), store, "there",
                                  {.write = true, .create = true, .exclusive = true}),
                 Error);
    const auto file = SharedFile::open(comm.duplicate(), store, "new",
                                       {.write = true, .create = true, .delete_on_close = true});
    file->close();
  });
  EXPECT_EQ(store.paths(), std::vector<std::string>{"there"});
}

}  // namespace
}  // namespace sheaf::failures_test
