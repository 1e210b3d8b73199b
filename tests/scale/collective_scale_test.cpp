// Collective transfers of very many tasks on a hundred hosts: traffic between hosts, and memory per task.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "comm/shared_memory.hpp"
#include "exchange/collective_executor.hpp"
#include "scale/counting_heap.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/forwarding_comm.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::collective_scale_test {
namespace {

using exchange::CollectiveExecutor;
using exchange::CollectiveOptions;
using exchange::IoCounters;
using layout::TypeMap;

constexpr int hosts = 100;
constexpr int64_t record = 64;

struct Sent {  // and received by a task, in messages to and from others
  int64_t messages = 0;
  int64_t bytes = 0;
};

// Counts point-to-point messages; all groups made from it share the counters.
class TrafficCountingComm final : public test::ForwardingComm {
 public:
  TrafficCountingComm(std::unique_ptr<Comm> comm, Sent& sent)
      : ForwardingComm(std::move(comm)), sent_(sent) {}
  std::unique_ptr<Exchange> exchange(std::vector<Outgoing> outgoing,
                                     std::vector<Incoming> incoming) override {
    sent_.messages += std::ssize(outgoing) + std::ssize(incoming);
    for (const Outgoing& message : outgoing) sent_.bytes += std::ssize(message.bytes);
    return comm_->exchange(std::move(outgoing), std::move(incoming));
  }

 private:
  std::unique_ptr<Comm> wrap(std::unique_ptr<Comm> comm) override {
    return std::make_unique<TrafficCountingComm>(std::move(comm), sent_);
  }

  Sent& sent_;
};

// Tasks with the same number on all hosts share a range, in which they own records in turn. The ranges are
// adjacent.
void check(int tasks, int64_t records, bool reads) {
  const int per_host = tasks / hosts;
  MemoryStore store;
  store.open("a", Access::fresh);
  const auto count = static_cast<size_t>(tasks);
  std::vector<Sent> sent(count), planned(count), repeated(count);
  const TypeMap type = TypeMap::bytes(record).resized(0, hosts * record);
  std::vector<int64_t> most(count);  // bytes that tasks have held
  int64_t owners = 0, wrong = 0;
  run_fibers({.ranks = tasks, .stack_bytes = 64 << 10, .ranks_per_node = per_host}, [&](Comm& comm) {
    const int rank = comm.rank();
    TrafficCountingComm counted(comm.duplicate(), sent[static_cast<size_t>(rank)]);
    const auto file = store.open("a", Access::write);
    CollectiveExecutor transfers(counted);
    CollectiveOptions how;
    how.exchange = CollectiveOptions::Buffering::enabled;
    how.aggregators = hosts;
    how.buffer = 64 << 10;
    how.methods.data = ExchangeMethod::messages;  // which `counted` counts
    IoCounters tally;
    std::vector<std::byte> data(record * records, static_cast<std::byte>(rank % 251 + 1));
    const exchange::FileAccess access{rank % per_host * hosts * record * records + rank / per_host * record,
                                      &type,
                                      0,
                                      std::ssize(data),
                                      data.data(),
                                      &exchange::contiguous_bytes()};
    transfers.write(*file, access, how, std::nullopt, tally);
    comm.barrier();
    planned[static_cast<size_t>(rank)] = std::exchange(sent[static_cast<size_t>(rank)], Sent{});
    if (rank == 0) counting_heap::start(tasks);
    comm.barrier();
    transfers.write(*file, access, how, std::nullopt, tally);
    comm.barrier();
    repeated[static_cast<size_t>(rank)] = sent[static_cast<size_t>(rank)];
    if (rank == 0) {
      for (int task = 0; task < tasks; ++task)
        most[static_cast<size_t>(task)] = counting_heap::max_held(task);
      counting_heap::stop();
      owners = tally.aggregators;
    }
    if (!reads) return;
    const std::vector<std::byte> expected = std::exchange(data, std::vector<std::byte>(data.size()));
    exchange::FileAccess into = access;
    into.address = data.data();
    const int64_t got = transfers.read(*file, into, how, std::nullopt, tally);
    wrong += got != into.bytes() || data != expected;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(owners, hosts);
  const auto bytes = store.contents("a");
  ASSERT_EQ(std::ssize(bytes), tasks * record * records);
  for (int64_t i = 0; i < std::ssize(bytes) / record; ++i) {
    const int64_t rank = i % hosts * per_host + i / hosts / records;
    ASSERT_EQ(bytes[static_cast<size_t>(i * record)], static_cast<std::byte>(rank % 251 + 1))
        << "record " << i;
  }

  Sent all_planned, all_repeated;
  int64_t busiest = 0, held = 0, held_by_aggregator = 0;
  for (size_t i = 0; i < planned.size(); ++i) {
    busiest = std::max(busiest, planned[i].messages - repeated[i].messages);
    all_planned.bytes += planned[i].bytes;
    all_repeated.bytes += repeated[i].bytes;
    const bool aggregates = repeated[i].messages > 0;
    (aggregates ? held_by_aggregator : held) = std::max(aggregates ? held_by_aggregator : held, most[i]);
  }
  const int64_t changing = tasks * record * records / hosts * (hosts - 1);  // bytes that change host
  std::printf(
      "%d tasks: %ld messages of a plan at the busiest task, %.3f bytes per byte that changes host with it, "
      "%.3f without; held %ld, by aggregators %ld\n",
      tasks, static_cast<long>(busiest),
      static_cast<double>(all_planned.bytes) / static_cast<double>(changing),
      static_cast<double>(all_repeated.bytes) / static_cast<double>(changing), static_cast<long>(held),
      static_cast<long>(held_by_aggregator));
  EXPECT_LE(busiest, 2 * (hosts + owners));
  EXPECT_LE(static_cast<double>(all_planned.bytes), 1.05 * static_cast<double>(changing));
  EXPECT_LE(held, 64 * per_host + 4096) << "a task knows the ranges of its host";
  EXPECT_LE(held_by_aggregator, 4 << 20);
}

int64_t resident_bytes() {
  int64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

// Every task has a window pool with space for the windows of all tasks. Hosts must use little memory, because
// untouched windows and maps are not resident (24 MiB on every host, once).
TEST(CollectiveScale, HostsOfOneTaskTakeLittleMemory) {
  constexpr int alone = 256;
  constexpr int64_t records = 1024;
  MemoryStore store;
  store.open("a", Access::fresh);
  const TypeMap type = TypeMap::bytes(record).resized(0, alone * record);
  const int64_t before = resident_bytes();
  int64_t held = 0;
  run_fibers({.ranks = alone, .stack_bytes = 64 << 10, .ranks_per_node = 1}, [&](Comm& comm) {
    const auto file = store.open("a", Access::write);
    CollectiveExecutor transfers(comm);
    CollectiveOptions how;
    how.exchange = CollectiveOptions::Buffering::enabled;
    IoCounters tally;
    std::vector<std::byte> data(record * records, static_cast<std::byte>(comm.rank() % 251 + 1));
    const exchange::FileAccess access{comm.rank() * record, &type,       0,
                                      std::ssize(data),     data.data(), &exchange::contiguous_bytes()};
    transfers.write(*file, access, how, std::nullopt, tally);
    comm.barrier();
    if (comm.rank() == 0) held = resident_bytes() - before;
    EXPECT_EQ(tally.aggregators, alone);
    comm.barrier();
  });
  const auto bytes = store.contents("a");
  for (int64_t i = 0; i < alone * records; ++i)
    ASSERT_EQ(bytes[static_cast<size_t>(i * record)], static_cast<std::byte>(i % alone % 251 + 1)) << i;
  std::printf("%d hosts of one task hold %.1f MiB each\n", alone,
              static_cast<double>(held) / alone / (1 << 20));
  EXPECT_LE(held / alone, 8 << 20);
}

TEST(CollectiveScale, TenThousandTasks) { check(10'000, 48, true); }
TEST(CollectiveScale, AHundredThousandTasks) { check(100'000, 2, false); }

}  // namespace
}  // namespace sheaf::collective_scale_test
