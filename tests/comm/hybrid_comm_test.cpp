#include "comm/threads/hybrid_comm.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/comm_contract.hpp"
#include "comm/on_hybrid.hpp"

namespace sheaf::hybrid_comm_test {
namespace {

using test::on_hybrid;
using test::Shape;

class Hybrid : public testing::TestWithParam<Shape> {};

TEST_P(Hybrid, KeepsTheContract) {
  on_hybrid(GetParam(), [](Comm& comm) { test::check_comm_contract(comm, 60, {1, 2, 3}); });
}

INSTANTIATE_TEST_SUITE_P(HybridComm, Hybrid,
                         testing::Values(Shape{1, 1}, Shape{1, 4}, Shape{4, 1}, Shape{2, 3}, Shape{3, 2},
                                         Shape{5, 4}));

TEST(HybridComm, GroupsOfWholeProcessesStayRegular) {
  on_hybrid({4, 3}, [](Comm& comm) {
    EXPECT_EQ(comm.grain(), 3);
    const auto halves = comm.split(comm.rank() / 3 % 2, comm.rank());
    EXPECT_EQ(halves->grain(), 3);
    EXPECT_EQ(halves->size(), 6);
    const auto backwards = comm.split(0, 10 * (3 - comm.rank() / 3) + comm.rank() % 3);
    EXPECT_EQ(backwards->grain(), 3);
    EXPECT_EQ(backwards->rank(), 3 * (3 - comm.rank() / 3) + comm.rank() % 3);
    EXPECT_EQ(comm.split_by_node()->grain(), 3);
    EXPECT_EQ(comm.grain(), 3);
  });
}

// Groups that contain only some threads of a process must be able to make different numbers of calls, as the
// groups of a set's files do.
TEST(HybridComm, GroupsAcrossProcessesNeedNotBeInStep) {
  on_hybrid({2, 3}, [](Comm& comm) {
    const int color = comm.rank() >= 2;
    const auto part = comm.split(color, comm.rank());
    for (int i = 0; i < (color ? 5 : 1); ++i) {
      std::array<int64_t, 1> sum{1};
      part->all_sum(sum);
      test::require(sum[0] == (color ? 4 : 2), "sum in the part");
    }
    std::array<int64_t, 1> sum{1};
    comm.all_sum(sum);
    test::require(sum[0] == 6, "sum over all, after different numbers of calls");
  });
}

TEST(HybridComm, CallsThatDoNotMatchInIrregularGroupsAreFound) {
  on_hybrid({2, 3}, [](Comm& comm) {
    const auto part = comm.split(comm.rank() % 2, 0);
    // Half of the tasks wait in one group, half in the other.
    EXPECT_THROW(comm.rank() < 3 ? part->barrier() : comm.barrier(), Error);
    comm.barrier();
    EXPECT_THROW(part->gather({}, part->rank() == 0), Error);
    EXPECT_THROW(part->scatter({{}, {7}}, 0), Error);
    part->barrier();
  });
}

TEST(HybridComm, AnErrorOfOneThreadIsAnErrorOfAll) {
  on_hybrid({2, 2}, [](Comm& comm) {
    for (int failing = 0; failing < 4; ++failing) {
      const auto problem = attempt([&] {
        if (comm.rank() == failing) throw Error(Code::io, "disk on fire");
      });
      EXPECT_THROW(agree(comm, problem), Error);
    }
  });
}

TEST(HybridComm, TeamsOfDifferentSizesAreRefusedByAll) {
  const auto masters = make_thread_team(2);
  const std::vector<std::shared_ptr<ThreadTeam>> teams{make_thread_team(1), make_thread_team(2)};
  std::atomic<int> refused = 0;
  test::on_threads(3, [&](int task) {
    const int p = task > 0;
    const int t = task == 2;
    try {
      hybrid_comm(t == 0 ? thread_comm(masters, p) : nullptr, thread_comm(teams[static_cast<size_t>(p)], t));
    } catch (const Error& error) {
      refused += error.code() == Code::mismatch;
    }
  });
  EXPECT_EQ(refused, 3);
}

// A Comm that fails if a thread other than thread 0 of a process calls it.
class OneThreadOnly final : public Comm {
 public:
  explicit OneThreadOnly(std::unique_ptr<Comm> comm)
      : comm_(std::move(comm)), owner_(std::this_thread::get_id()) {}
  ~OneThreadOnly() override { EXPECT_EQ(std::this_thread::get_id(), owner_); }
  int rank() const override { return own().rank(); }
  int size() const override { return own().size(); }
  void barrier() override { own().barrier(); }
  void broadcast(std::span<std::byte> data, int root) override { own().broadcast(data, root); }
  void reduce(Reduction how, std::span<int64_t> values) override { own().reduce(how, values); }
  Gathered gather(std::span<const std::byte> mine, int root) override { return own().gather(mine, root); }
  std::vector<std::byte> scatter(const Gathered& pieces, int root) override {
    return own().scatter(pieces, root);
  }
  void scatter_equal(std::span<const std::byte> pieces, std::span<std::byte> mine, int root) override {
    own().scatter_equal(pieces, mine, root);
  }
  std::unique_ptr<Comm> split(int color, int key) override {
    auto part = own().split(color, key);
    return part ? std::make_unique<OneThreadOnly>(std::move(part)) : nullptr;
  }
  std::unique_ptr<Comm> duplicate() override { return std::make_unique<OneThreadOnly>(own().duplicate()); }
  std::unique_ptr<Comm> split_by_node() override {
    return std::make_unique<OneThreadOnly>(own().split_by_node());
  }

 private:
  Comm& own() const {
    EXPECT_EQ(std::this_thread::get_id(), owner_);
    return *comm_;
  }
  std::unique_ptr<Comm> comm_;
  std::thread::id owner_;
};

TEST(HybridComm, OnlyTheMasterThreadsTalkBetweenProcesses) {
  const auto masters = make_thread_team(2);
  const std::vector<std::shared_ptr<ThreadTeam>> teams{make_thread_team(3), make_thread_team(3)};
  test::on_threads(6, [&](int task) {
    auto processes =
        task % 3 == 0 ? std::make_unique<OneThreadOnly>(thread_comm(masters, task / 3)) : nullptr;
    const auto comm =
        hybrid_comm(std::move(processes), thread_comm(teams[static_cast<size_t>(task / 3)], task % 3));
    test::check_comm_contract(*comm);
  });
}

}  // namespace
}  // namespace sheaf::hybrid_comm_test
