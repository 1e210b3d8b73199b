#include "comm/threads/callback_comm.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "comm/comm_contract.hpp"
#include "comm/on_threads.hpp"
#include "support/thread_callbacks.hpp"

namespace sheaf::callback_comm_test {
namespace {

using test::PthreadEnd;
using test::PthreadGroup;

const CommCallbacks callbacks{test::pt_barrier,  test::pt_bcastr,    test::pt_gatherr, test::pt_gathervr,
                              test::pt_scatterr, test::pt_scattervr, test::pt_create,  test::pt_free};

CommCallbacks with_allgather() {
  CommCallbacks all = callbacks;
  all.barrier = [](void*) -> int { std::abort(); };
  all.bcastr = [](void*, void*, int, int, int) -> int { std::abort(); };
  all.gatherr = all.scatterr = [](void*, void*, void*, int, int, int) -> int { std::abort(); };
  all.allgather = test::pt_allgather;
  return all;
}

void on(const CommCallbacks& these, int tasks, const std::function<void(Comm&, PthreadEnd&)>& body) {
  const auto group = std::make_shared<PthreadGroup>(tasks);
  test::on_threads(tasks, [&](int rank) {
    PthreadEnd end{group, rank};
    const auto comm = callback_comm(these, &end, rank, tasks);
    body(*comm, end);
  });
}

// Calls body(comm, end) on `tasks` tasks, first without and then with the allgather callback.
void on_callbacks(int tasks, const std::function<void(Comm&, PthreadEnd&)>& body) {
  on(callbacks, tasks, body);
  on(with_allgather(), tasks, body);
}

class Callbacks : public testing::TestWithParam<int> {};

TEST_P(Callbacks, KeepTheContract) {
  on_callbacks(GetParam(), [](Comm& comm, PthreadEnd&) { test::check_comm_contract(comm, 40, {1, 2}); });
}

INSTANTIATE_TEST_SUITE_P(CallbackComm, Callbacks, testing::Values(1, 2, 3, 7));

TEST(CallbackComm, GroupsNeedNotBeInStep) {
  on_callbacks(5, [](Comm& comm, PthreadEnd&) {
    const int color = comm.rank() % 2;
    const auto part = comm.split(color, 0);
    for (int i = 0; i < (color ? 7 : 2); ++i) part->barrier();
    comm.barrier();
  });
}

TEST(CallbackComm, CallsThatDoNotMatchAreFound) {
  on_callbacks(4, [](Comm& comm, PthreadEnd&) {
    EXPECT_THROW(comm.rank() == 2 ? comm.barrier() : comm.all_sum({}), Error);
    EXPECT_THROW(comm.gather({}, comm.rank() == 1), Error);
    EXPECT_THROW(comm.scatter({{}, {5}}, 3), Error);
    comm.barrier();
  });
}

TEST(CallbackComm, TopologyMakesNodesOfConsecutiveTasks) {
  setenv("SHEAF_TOPOLOGY", "node=2", 1);
  on_callbacks(
      5, [](Comm& comm, PthreadEnd&) { EXPECT_EQ(comm.split_by_node()->size(), comm.rank() < 4 ? 2 : 1); });
  unsetenv("SHEAF_TOPOLOGY");
  on_callbacks(3, [](Comm& comm, PthreadEnd&) { EXPECT_EQ(comm.split_by_node()->size(), 3); });
}

// If any callback fails on any task, all tasks must get the error in the same call or in the next one.
TEST(CallbackComm, AFailingCallbackIsAnErrorOfAll) {
  for (const char* callback : {"bcastr", "gatherr", "scatterr", "allgather"})
    for (int failing = 0; failing < 3; ++failing)
      for (int at = 0; at < 4; ++at)
        on(std::string(callback) == "allgather" ? with_allgather() : callbacks, 3,
           [&](Comm& comm, PthreadEnd& end) {
             if (comm.rank() == failing) {
               end.fail_at = at;
               end.fail_in = callback;
             }
             int done = 0;
             try {
               for (; done < 10; ++done) {
                 std::array<int64_t, 2> values{comm.rank(), 1};
                 comm.all_sum(values);
                 test::require(values[0] == 3 && values[1] == 3, "what is returned is right");
               }
               test::require(false, "the failure is told");
             } catch (const Error& error) {
               const std::string text = error.what();
               EXPECT_NE(text.find(callback), std::string::npos) << text;
               EXPECT_NE(text.find("returned 7"), std::string::npos) << text;
               EXPECT_EQ(text.find("task ") == 0, comm.rank() != failing) << text;
             }
             EXPECT_LE(done, at + 1);
             const int calls = end.calls;
             EXPECT_THROW(comm.barrier(), Error) << "the group is dead";
             EXPECT_EQ(end.calls, calls) << "and makes no more callbacks";
           });
}

TEST(CallbackComm, ACallbackThatGoesOnFailingIsAnError) {
  CommCallbacks failing = with_allgather();
  failing.allgather = [](const void*, void*, void*, long long) { return -1; };
  on(failing, 3, [](Comm& comm, PthreadEnd&) {
    EXPECT_THROW(comm.barrier(), Error);
    EXPECT_THROW(comm.barrier(), Error);
  });
}

void move_long_messages(Comm& comm, PthreadEnd&) {
  const int rank = comm.rank();
  for (const size_t bytes : {size_t{1}, size_t{65'000}, size_t{65'536}, size_t{300'001}}) {
    const std::vector<std::byte> mine(bytes / static_cast<size_t>(rank + 1),
                                      static_cast<std::byte>(rank + 1));
    const Gathered all = comm.gather(mine, 0);
    if (rank == 0) {
      EXPECT_EQ(all.bytes.size(), static_cast<size_t>(all.offsets().back()));
      EXPECT_EQ(all.bytes.back(),
                all.sizes.back() > 0 ? static_cast<std::byte>(comm.size()) : all.bytes.back());
    }
    EXPECT_EQ(comm.scatter(all, 0), mine);
  }
}

// These callbacks abort if the library calls them in a way in which existing programs were never called. A
// test sends messages of many rounds through them.
int never_v(void*, void*, void*, int, int*, int, int) { std::abort(); }
int only_numbers(void* in, void* out, void* group, int dtype, int n, int root,
                 decltype(test::pt_gatherr)* pass_on) {
  if (dtype != _SION_INT32 && dtype != _SION_INT64) std::abort();
  if (static_cast<int64_t>(test::bytes_of(dtype, n)) > 64 << 10) std::abort();
  return pass_on(in, out, group, dtype, n, root);
}

TEST(CallbackComm, MakesNoCallThatProgramsHaveNeverSeen) {
  CommCallbacks strict = callbacks;
  strict.gathervr = strict.scattervr = never_v;
  strict.gatherr = [](void* in, void* out, void* g, int t, int n, int r) {
    return only_numbers(in, out, g, t, n, r, test::pt_gatherr);
  };
  strict.scatterr = [](void* in, void* out, void* g, int t, int n, int r) {
    return only_numbers(in, out, g, t, n, r, test::pt_scatterr);
  };
  for (const int tasks : {2, 3}) on(strict, tasks, move_long_messages);
}

TEST(CallbackComm, AnAllgatherMovesMessagesOfAnyLength) {
  for (const int tasks : {2, 3}) on(with_allgather(), tasks, move_long_messages);
}

// Every small collective call must call the allgather callback exactly twice.
TEST(CallbackComm, AnAllgatherIsCalledTwiceForACollective) {
  on(with_allgather(), 3, [](Comm& comm, PthreadEnd& end) {
    std::array<int64_t, 2> values{comm.rank(), 1};
    comm.all_sum(values);
    comm.barrier();
    const auto part = comm.split(comm.rank() % 2, 0);
    EXPECT_EQ(end.count["allgather"], 6);
  });
}

// If a callback delivers other bytes than a task sent, all tasks must get an error.
TEST(CallbackComm, AnAllgatherThatChangesBytesIsAnErrorOfAll) {
  CommCallbacks changing = with_allgather();
  changing.allgather = [](const void* mine, void* all, void* cg, long long nbytes) {
    const int outcome = test::pt_allgather(mine, all, cg, nbytes);
    if (static_cast<PthreadEnd*>(cg)->rank == 1 && nbytes > 100) static_cast<char*>(all)[40] ^= 1;
    return outcome;
  };
  on(changing, 3, [](Comm& comm, PthreadEnd&) {
    std::array<int64_t, 2> values{comm.rank(), 1};
    EXPECT_THROW(comm.all_sum(values), Error);
  });
}

// In a group of one task, the library must copy the data itself and call no callback.
TEST(CallbackComm, AGroupOfOneCallsNobody) {
  CommCallbacks none;
  none.create_group = [](void** local, void* group, int, int, int, int, int, int) {
    return *local = group, 0;
  };
  none.free_group = [](void*) { return 0; };
  int group = 0;
  const auto comm = callback_comm(none, &group, 0, 1);
  test::check_comm_contract(*comm, 40, {1, 2});
  make_local_group(*comm, {0, 1, 0, 1});
  EXPECT_EQ(local_group_of(*comm), &group);
}

// If scatterr delivers zeros, all tasks must get an error, and no task may hang.
TEST(CallbackComm, AnImpossibleReplyIsAnErrorOfAll) {
  CommCallbacks broken = callbacks;
  broken.scatterr = [](void*, void* own, void* g, int t, int n, int) {
    std::memset(own, 0, test::bytes_of(t, n));
    return test::pt_barrier(g);
  };
  const auto group = std::make_shared<PthreadGroup>(2);
  test::on_threads(2, [&](int rank) {
    PthreadEnd end{group, rank};
    const auto comm = callback_comm(broken, &end, rank, 2);
    EXPECT_THROW(comm->barrier(), Error);
  });
}

TEST(CallbackComm, MakesAndFreesTheLocalGroup) {
  std::array<int, 4> freed{};
  on_callbacks(4, [&](Comm& comm, PthreadEnd& end) {
    end.freed = &freed[static_cast<size_t>(comm.rank())];
    EXPECT_EQ(local_group_of(comm), nullptr);
    make_local_group(comm, {comm.rank() % 2, 2, comm.rank() / 2, 2});
    const auto* local = static_cast<PthreadEnd*>(local_group_of(comm));
    EXPECT_EQ(local->rank, comm.rank() % 2);
    EXPECT_EQ(local->group->size, 2);
  });
  EXPECT_EQ(freed, (std::array<int, 4>{2, 2, 2, 2})) << "once for each kind of callbacks";
}

TEST(CallbackComm, AGroupThatCannotBeMadeIsAnErrorOfAll) {
  on_callbacks(3, [&](Comm& comm, PthreadEnd& end) {
    if (comm.rank() == 1) end = {end.group, 1, 0, "create"};
    EXPECT_THROW(make_local_group(comm, {comm.rank(), 3, 0, 1}), Error);
  });
}

TEST(CallbackComm, RefusesARankThatIsNotThere) {
  EXPECT_THROW(callback_comm(callbacks, nullptr, 2, 2), Error);
  EXPECT_THROW(callback_comm(callbacks, nullptr, -1, 2), Error);
  EXPECT_THROW(callback_comm(callbacks, nullptr, 0, 0), Error);
}

}  // namespace
}  // namespace sheaf::callback_comm_test
