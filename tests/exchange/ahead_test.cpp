// Tasks that leave a collective transfer before the others have come (exchange/collective, `ahead`): bytes are those of the calls
// in their order, and what goes wrong is told to all.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include "comm/agree.hpp"
#include "comm/fiber_comm.hpp"
#include "exchange/collective.hpp"
#include "exchange/extent.hpp"
#include "storage/forwarding_file.hpp"
#include "storage/memory_store.hpp"

namespace sheaf::exchange::ahead_test {
namespace {

using layout::TypeMap;

constexpr int64_t large = 64 << 10;

// What the tasks of a run share, which run in one thread.
struct Watch {
  int64_t room = std::numeric_limits<int64_t>::max();
  int64_t fails_at = -1;         // a transfer of this byte fails, once
  int64_t call_of[16] = {};      // that each task has come to, from 1 on
  int64_t ended_of[16] = {};     // that it has returned from
  int64_t requests_of[16] = {};  // that it has ended
  bool locked = false;           // the file, by a task
  bool one_each = false;         // request in every call
  bool overtaken = false;        // a request began before others had ended theirs of the call before
};

// A file on a disk with room; every transfer lets other tasks run.
class SlowFile final : public ForwardingFile {
 public:
  SlowFile(std::shared_ptr<File> file, Watch& watch, const Comm& comm)
      : ForwardingFile(std::move(file)), watch_(watch), rank_(comm.rank()), size_(comm.size()) {}
  int64_t room_left() override { return watch_.room; }
  void write_at(std::span<const std::byte> data, int64_t offset) override {
    begin(std::ssize(data), offset);
    const auto half = data.size() / 2;
    inner().write_at(data.first(half), offset);
    yield();
    inner().write_at(data.subspan(half), offset + static_cast<int64_t>(half));
    ++watch_.requests_of[rank_];
  }
  LockResult lock(int64_t /*offset*/, int64_t /*length*/, bool /*exclusive*/, Barred) override {
    while (std::exchange(watch_.locked, true)) yield();
    return {};
  }
  void unlock(int64_t /*offset*/, int64_t /*length*/) override { watch_.locked = false; }
  size_t read_at(std::span<std::byte> data, int64_t offset) override {
    begin(std::ssize(data), offset);
    yield();
    const size_t got = inner().read_at(data, offset);
    for (int i = 0; i < 20; ++i) yield();  // what is read may be old by then
    return got;
  }

 private:
  void begin(int64_t length, int64_t offset) {
    for (int r = 0; r < size_ && watch_.one_each; ++r) watch_.overtaken |= watch_.requests_of[r] + 1 < watch_.call_of[rank_];
    if (watch_.fails_at < offset || watch_.fails_at >= offset + length) return;
    watch_.fails_at = -1;
    throw Error(Code::io, "no, says the test");
  }

  Watch& watch_;
  const int rank_;
  const int size_;
};

struct Task {
  Comm& comm;
  SlowFile file;
  Collective transfers;
  Tally tally;
  Watch& watch;
  int64_t calls = 0;

  Task(Comm& group, Store& store, Watch& shared)
      : comm(group), file(store.open("a", sheaf::Access::write), shared, group), transfers(group), watch(shared) {}

  void begin() { watch.call_of[comm.rank()] = ++calls; }
  void end() { watch.ended_of[comm.rank()] = calls; }

  // Writes `value` everywhere in `pieces` (of the file, in order).
  std::optional<Error> write(const std::vector<Extent>& pieces, std::byte value, std::optional<Error> problem = std::nullopt) {
    std::vector<int64_t> lengths, offsets;
    int64_t total = 0;
    for (const Extent& piece : pieces) {
      lengths.push_back(piece.length);
      offsets.push_back(piece.offset);
      total += piece.length;
    }
    const TypeMap type = TypeMap::indexed(lengths, offsets, TypeMap::bytes(1));
    const std::vector<std::byte> data(static_cast<size_t>(total), value);
    begin();
    const auto failed = attempt([&] {
      transfers.write(file, total > 0 ? Access{0, &type, 0, total, const_cast<std::byte*>(data.data()), &contiguous_bytes()} : Access{},
                      {}, std::move(problem), tally);
    });
    end();
    return failed;
  }
  std::vector<std::byte> read(int64_t offset, int64_t length) {
    const TypeMap one = TypeMap::bytes(1);
    std::vector<std::byte> data(static_cast<size_t>(length));
    begin();
    const int64_t got = transfers.read(file, {offset, &one, 0, length, data.data(), &contiguous_bytes()}, {}, std::nullopt, tally);
    end();
    data.resize(static_cast<size_t>(got));
    return data;
  }
};

template <class Body>
void on_tasks(int tasks, uint64_t seed, Watch& watch, Store& store, Body body) {
  store.open("a", sheaf::Access::create);
  run_fibers({.ranks = tasks, .stack_bytes = 512 << 10, .seed = seed, .ranks_per_node = tasks}, [&](Comm& comm) {
    Task task(comm, store, watch);
    body(task);
    task.transfers.settle();
    EXPECT_FALSE(watch.overtaken) << "seed " << seed;
  });
}

std::vector<Extent> own(const Task& task, int64_t call) { return {{(call * task.comm.size() + task.comm.rank()) * large, large}}; }

TEST(Ahead, TasksLeaveCallsInWhichNobodyNeedsTheOthers) {
  int64_t most_ahead = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Watch watch;
    watch.one_each = true;
    MemoryStore store;
    on_tasks(4, seed, watch, store, [&](Task& task) {
      for (int64_t call = 0; call < 8; ++call) {
        EXPECT_FALSE(task.write(own(task, call), std::byte{1}));
        for (int r = 0; r < 4; ++r) most_ahead = std::max(most_ahead, watch.ended_of[task.comm.rank()] - watch.ended_of[r]);
      }
      EXPECT_EQ(task.tally.ahead_calls, 7) << "all but the first";
    });
    EXPECT_EQ(store.open("a", sheaf::Access::read)->status().size, 32 * large);
  }
  EXPECT_GE(most_ahead, 1) << "they leave, and wait at the beginning of the next";
}

TEST(Ahead, TasksLeaveTheFirstCallWhereThatIsExpected) {
  Watch watch;
  MemoryStore store;
  on_tasks(4, 1, watch, store, [&](Task& task) {
    task.transfers.expect_apart();
    for (int64_t call = 0; call < 3; ++call) EXPECT_FALSE(task.write(own(task, call), std::byte{1}));
    EXPECT_EQ(task.tally.ahead_calls, 3);
    EXPECT_FALSE(task.write({{task.comm.rank() * 10, 10}}, std::byte{1}));
    EXPECT_FALSE(task.transfers.apart());
  });
}

TEST(Ahead, NobodyLeavesWithoutRoomOrWhereItIsSwitchedOff) {
  for (const bool off : {false, true}) {
    Watch watch;
    watch.room = off ? watch.room : (1 << 30) - 1;
    MemoryStore store;
    on_tasks(3, 1, watch, store, [&](Task& task) {
      Together how;
      how.ahead = !off;
      const std::vector<std::byte> data(large);
      const TypeMap one = TypeMap::bytes(1);
      for (int call = 0; call < 4; ++call)
        task.transfers.write(task.file, {task.comm.rank() * large, &one, 0, large, const_cast<std::byte*>(data.data()), &contiguous_bytes()},
                             how, std::nullopt, task.tally);
      EXPECT_EQ(task.tally.ahead_calls, 0);
    });
  }
}

// Any sequence of calls: large pieces, small ones with and without gaps, nothing, on each task as chance will have it, over ranges
// that other tasks have written in other calls.
TEST(Ahead, BytesAreThoseOfTheCallsInTheirOrder) {
  int64_t left = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    std::mt19937_64 random(seed);
    const auto draw = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most)); };
    const int tasks = 2 + static_cast<int>(draw(4));
    constexpr int calls = 25;
    std::vector<std::vector<std::vector<Extent>>> pieces(calls, std::vector<std::vector<Extent>>(static_cast<size_t>(tasks)));
    std::vector<std::byte> expected(2 << 20);
    std::vector<std::vector<std::byte>> after;
    int64_t end = 0;
    for (int call = 0; call < calls; ++call) {
      const bool alike = draw(4) != 0;
      const int64_t kind_of_all = draw(3) == 0 ? 1 + draw(2) : 0;
      int64_t at = draw(large);
      for (int round = 0; round < 3; ++round)
        for (int r = 0; r < tasks; ++r) {
          const int64_t kind = alike ? kind_of_all : draw(4);
          if (kind == 3 || (kind == 0 && round > 0)) continue;
          const int64_t length = kind == 0 ? 40'000 + draw(40'000) : 1 + draw(300);
          pieces[static_cast<size_t>(call)][static_cast<size_t>(r)].push_back({at, length});
          std::fill_n(expected.begin() + at, length, static_cast<std::byte>(1 + (call * tasks + r) % 255));
          at += length + (kind == 2 ? draw(200) : 0);
          end = std::max(end, at);
        }
      after.push_back(expected);
    }
    Watch watch;
    MemoryStore store;
    on_tasks(tasks, seed, watch, store, [&](Task& task) {
      if (seed % 3 == 0) task.transfers.expect_apart();  // wrongly, more often than not
      for (int call = 0; call < calls; ++call) {
        const auto& mine = pieces[static_cast<size_t>(call)][static_cast<size_t>(task.comm.rank())];
        EXPECT_FALSE(task.write(mine, static_cast<std::byte>(1 + (call * tasks + task.comm.rank()) % 255)));
        if (call % 4 != 3) continue;
        const auto found = task.read(0, 500'000);
        EXPECT_TRUE(std::equal(found.begin(), found.end(), after[static_cast<size_t>(call)].begin())) << "seed " << seed << ", call " << call;
      }
      left += task.tally.ahead_calls;
    });
    std::vector<std::byte> found(static_cast<size_t>(store.open("a", sheaf::Access::read)->status().size));
    store.open("a", sheaf::Access::read)->read_at(found, 0);
    EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.begin())) << "seed " << seed;
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
  EXPECT_GT(left, 1000) << "some calls are left";
}

// Who has left may write by itself, between the pieces of one that has stayed.
TEST(Ahead, WhoStaysChangesNothingBetweenItsPieces) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Watch watch;
    MemoryStore store;
    on_tasks(3, seed, watch, store, [&](Task& task) {
      for (int64_t call = 0; call < 3; ++call) EXPECT_FALSE(task.write(own(task, call), std::byte{1}));
      std::vector<Extent> pieces = own(task, 3);
      const int64_t low = 3 * 3 * large + large;
      if (task.comm.rank() == 1) {
        pieces.clear();
        for (int64_t i = 0; i < 40; ++i) pieces.push_back({low + i * 200, 100});
      }
      EXPECT_FALSE(task.write(pieces, std::byte{1}));
      const std::vector<std::byte> other(50, std::byte{2});
      if (task.comm.rank() == 2)
        for (int64_t i = 0; i < 40; ++i) task.file.write_at(other, low + i * 200 + 120);
    });
    for (int64_t i = 0; i < 40; ++i) {
      std::byte found{};
      store.open("a", sheaf::Access::read)->read_at({&found, 1}, 3 * 3 * large + large + i * 200 + 130);
      ASSERT_EQ(found, std::byte{2}) << "seed " << seed << ", gap " << i;
    }
  }
}

// By the tasks in that call of their own pieces.
void expect_nothing_written(Store& store, int64_t call) {
  std::vector<std::byte> found(4 * large);
  store.open("a", sheaf::Access::read)->read_at(found, call * 4 * large);
  EXPECT_EQ(found, std::vector<std::byte>(4 * large)) << "the call after the failure";
}

// One task fails in a call that the others leave. It throws there, all others in the next, which writes nothing; then all is well.
TEST(Ahead, AFailureIsToldInTheNextCall) {
  for (const bool argument : {false, true})
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      Watch watch;
      MemoryStore store;
      std::map<int64_t, int> failed;  // tasks that failed, by call
      on_tasks(4, seed, watch, store, [&](Task& task) {
        for (int64_t call = 0; call < 6; ++call) {
          if (call == 3 && task.comm.rank() == 2 && !argument) watch.fails_at = own(task, call)[0].offset;
          const auto problem = argument && call == 3 && task.comm.rank() == 2 ? std::optional(Error(Code::invalid_argument, "a bad view")) : std::nullopt;
          const auto outcome = task.write(own(task, call), std::byte{1}, problem);
          if (!outcome) continue;
          ++failed[call];
          const std::string text = outcome->what();
          EXPECT_NE(text.find(argument ? "a bad view" : "says the test"), std::string::npos) << text;
          EXPECT_EQ(text.find("task 2: ") == 0, task.comm.rank() != 2) << text;
        }
      });
      EXPECT_EQ(failed, (std::map<int64_t, int>{{3, 1}, {4, 4}})) << "seed " << seed;
      expect_nothing_written(store, 4);
    }
}

// The same where one has stayed, because it has small pieces, and fails there.
TEST(Ahead, AFailureOfOneThatStayedIsToldInTheNextCall) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Watch watch;
    MemoryStore store;
    std::map<int64_t, int> failed;
    on_tasks(4, seed, watch, store, [&](Task& task) {
      for (int64_t call = 0; call < 6; ++call) {
        std::vector<Extent> pieces = own(task, call);
        if (call == 3 && task.comm.rank() == 1) {
          pieces = {{pieces[0].offset, 10}, {pieces[0].offset + 100, 10}};
          watch.fails_at = pieces[1].offset;
        }
        failed[call] += task.write(pieces, std::byte{1}).has_value();
      }
    });
    EXPECT_EQ(failed, (std::map<int64_t, int>{{0, 0}, {1, 0}, {2, 0}, {3, 1}, {4, 4}, {5, 0}})) << "seed " << seed;
    expect_nothing_written(store, 4);
  }
}

// Who asks afterwards is told as well: MPI_File_sync and MPI_File_close do.
TEST(Ahead, AFailureInTheLastCallIsToldToThoseWhoAsk) {
  Watch watch;
  MemoryStore store;
  on_tasks(3, 1, watch, store, [&](Task& task) {
    for (int64_t call = 0; call < 3; ++call) {
      if (call == 2 && task.comm.rank() == 0) watch.fails_at = own(task, call)[0].offset;
      EXPECT_EQ(task.write(own(task, call), std::byte{1}).has_value(), call == 2 && task.comm.rank() == 0);
    }
    const auto late = task.transfers.late();
    EXPECT_EQ(late.has_value(), task.comm.rank() == 0);
    EXPECT_FALSE(task.transfers.late()) << "once";
    EXPECT_FALSE(task.write(own(task, 3), std::byte{1}));
  });
}

}  // namespace
}  // namespace sheaf::exchange::ahead_test
