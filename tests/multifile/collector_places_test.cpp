// Placement of collectors. They must be spread over the hosts.
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "comm/on_hybrid.hpp"
#include "support/collective_programs.hpp"
#include "support/environment.hpp"

namespace sheaf::test::collector_places_test {

using namespace multifile;

namespace {

constexpr int per_node = 4;

// Opens a multifile with `open` on every task. Returns the collectors of all its files.
using Open = std::function<std::unique_ptr<Writer>(Store&, Comm&)>;
std::vector<int> collectors(int tasks, const Players& players, const Open& open) {
  MemoryStore store;
  SharedHandles shared(store);
  std::vector<int> found;
  std::mutex mutex;
  players(tasks, [&](Comm& comm) {
    const auto writer = open(shared, comm);
    require(writer->collective() != nullptr, "collective");
    if (writer->collective()->group().is_collector()) {
      const std::lock_guard lock(mutex);
      found.push_back(comm.rank());
    }
    writer->collective()->write(content(comm.rank(), 0, 100), std::nullopt);
    writer->close();
    Reader reader(shared, comm.duplicate(), "a", mode_of("r,collective=3"));
    std::vector<std::byte> bytes(
        static_cast<size_t>(reader.stream().available(100)));  // 0 for tasks merged into another stream
    reader.collective()->read(bytes, std::nullopt);
    require(bytes == content(comm.rank(), 0, std::ssize(bytes)), "bytes");
    reader.close();
  });
  std::ranges::sort(found);
  return found;
}

Players nodes_of_fibers() {
  return [](int tasks, const std::function<void(Comm&)>& body) {
    FiberOptions options = fibers(tasks);
    options.ranks_per_node = per_node;
    run_fibers(options, body);
  };
}
Players nodes_of_threads() { return on_team; }
Players nodes_of_processes() {
  return [](int tasks, const std::function<void(Comm&)>& body) { on_hybrid({tasks / 2, 2}, body); };
}

int max_on_a_node(const std::vector<int>& tasks, int tasks_of_node) {
  std::map<int, int> count;
  for (const int task : tasks) ++count[task / tasks_of_node];
  return std::ranges::max_element(count, {}, [](const auto& entry) { return entry.second; })->second;
}

// File f holds task f of every host.
std::unique_ptr<Writer> open_dealt(Store& store, Comm& comm, const std::string& words) {
  ParallelWriteRequest request;
  request.path = "a";
  request.nfiles = 0;
  request.local = comm.split(comm.rank() % per_node, comm.rank());
  request.chunk_size = 200;
  request.fsblksize = 64;
  return std::make_unique<Writer>(store, comm.duplicate(), std::move(request), shared_mode_of(comm, words));
}

std::unique_ptr<Writer> open_one(Store& store, Comm& comm, int collsize,
                                 const std::vector<int64_t>& requests) {
  ParallelWriteRequest request;
  request.path = "a";
  request.chunk_size = requests[static_cast<size_t>(comm.rank()) % requests.size()];
  request.fsblksize = 64;
  return std::make_unique<Writer>(store, comm.duplicate(), std::move(request),
                                  shared_mode_of(comm, "w,collective,collsize=" + std::to_string(collsize)));
}

TEST(CollectorPlaces, FilesWithATaskOfEveryNodeCollectOnDifferentNodes) {
  const EnvironmentVariable topology("SHEAF_TOPOLOGY", "node=4");
  for (const Players& players : {nodes_of_fibers(), nodes_of_threads()}) {
    EXPECT_EQ(collectors(16, players,
                         [](Store& store, Comm& comm) {
                           return open_dealt(store, comm, "w,collective,collsize=4");
                         }),
              (std::vector<int>{0, 5, 10, 15}));
    // Merging appends all bytes to the stream of the first task, so the first task is the only collector.
    EXPECT_EQ(collectors(16, players,
                         [](Store& store, Comm& comm) {
                           return open_dealt(store, comm, "w,collective,cmerge,collsize=4");
                         }),
              (std::vector<int>{0, 1, 2, 3}));
  }
}

TEST(CollectorPlaces, GroupsThatSpanNodesTakeDifferentOnes) {
  const EnvironmentVariable topology("SHEAF_TOPOLOGY", "node=4");
  for (const Players& players : {nodes_of_fibers(), nodes_of_threads()})
    for (const int collsize : {5, 6, 7, 8, 10}) {
      const auto found = collectors(
          40, players, [&](Store& store, Comm& comm) { return open_one(store, comm, collsize, {640}); });
      EXPECT_EQ(max_on_a_node(found, per_node), 1) << collsize << " tasks per collector";
    }
}

TEST(CollectorPlaces, GroupsInsideANodeShareIt) {
  const auto found = collectors(16, nodes_of_fibers(),
                                [](Store& store, Comm& comm) { return open_one(store, comm, 2, {640}); });
  EXPECT_EQ(found, (std::vector<int>{0, 2, 4, 6, 8, 10, 12, 14}));
}

// Each task with a large request must form its own group. The remaining tasks form one group over three
// hosts, and its collector must not be on the first host.
TEST(CollectorPlaces, UnequalGroups) {
  std::vector<int64_t> requests(16, 64);
  requests[0] = requests[1] = requests[2] = 6400;
  const auto found = collectors(16, nodes_of_fibers(),
                                [&](Store& store, Comm& comm) { return open_one(store, comm, 4, requests); });
  EXPECT_EQ(found, (std::vector<int>{0, 1, 2, 12}));
}

// Every host has whole processes of several tasks, and all groups take the same number of steps.
TEST(CollectorPlaces, HybridTasks) {
  const EnvironmentVariable topology("SHEAF_TOPOLOGY", "node=2");  // processes
  for (const int collsize : {5, 6, 10}) {
    const auto found = collectors(20, nodes_of_processes(), [&](Store& store, Comm& comm) {
      return open_one(store, comm, collsize, {640});
    });
    EXPECT_EQ(max_on_a_node(found, 4), 1) << collsize << " tasks per collector";
  }
}

}  // namespace
}  // namespace sheaf::test::collector_places_test
