// Files that one host accesses for all, because it stores them or because the file system serves one client.
#include <gtest/gtest.h>

#include <array>

#include "mpiio/file/held_pieces.hpp"
#include "support/counting_store.hpp"
#include "support/hosts_store.hpp"

namespace sheaf::one_host_test {

using namespace held_pieces;
using namespace mpiio;

namespace {

// Counts the requests of a task.
class TaskRequests final : public test::ObservedStore {
 public:
  using ObservedStore::ObservedStore;
  int64_t count = 0;

 private:
  void observe(ObservedKind, int64_t, const std::function<void()>& transfer) override {
    ++count;
    transfer();
  }
};

using Requests = std::array<int64_t, tasks>;

// Writes and reads the pieces of all tasks collectively, one task per host. Returns the requests of each.
Requests requests_of(const test::HostsOptions& options, Hints hints = {}) {
  hints.buffer_size = 1000;  // so that all hosts get windows
  test::SimulatedHosts hosts(options);
  Requests requests{};
  on_hosts([&](Comm& comm) {
    test::HostsStore own(hosts, comm.rank(), comm.rank());
    TaskRequests store(own);
    const auto file = SharedFile::open(comm.duplicate(), store, "file", both, hints);
    const int64_t before = store.count;
    const View view = SmallPieces::view_of(comm.rank());
    const auto mine = SmallPieces::of(comm.rank());
    file->write_at_all(file->sequence(), view, 0, from(mine));
    std::vector<std::byte> found(SmallPieces::bytes);
    EXPECT_EQ(file->read_at_all(file->sequence(), view, 0, into(found)), SmallPieces::bytes);
    EXPECT_EQ(found, mine);
    requests[static_cast<size_t>(comm.rank())] = store.count - before;
    file->close();
  });
  SmallPieces::check(hosts.contents("file"));
  return requests;
}

test::HostsOptions gluster() { return {.kind = FileSystem::glusterfs, .page = 64, .unit = 256}; }

void expect_hosts(const Requests& requests, const std::array<bool, tasks>& expected) {
  for (size_t task = 0; task < tasks; ++task)
    EXPECT_EQ(requests[task] > 0, expected[task]) << "task " << task << ": " << requests[task];
}

TEST(OneHost, StoresTheFileAndAccessesIt) {
  for (int host = 0; host < tasks; ++host) {
    test::HostsOptions options = gluster();
    options.data_host = host;
    expect_hosts(requests_of(options), {host == 0, host == 1, host == 2});
  }
}

TEST(OneHost, ThatRunsNoTaskLeavesTheFileToAll) {
  test::HostsOptions options = gluster();
  options.data_host = tasks;
  expect_hosts(requests_of(options), {true, true, true});
}

TEST(OneHost, AccessesAFileOfASingleClient) {
  test::HostsOptions options = gluster();
  options.one_client = true;
  expect_hosts(requests_of(options), {true, false, false});
}

TEST(OneHost, IsNotChosenAgainstTheHints) {
  test::HostsOptions options = gluster();
  options.data_host = 1;
  Hints hints;
  hints.aggregators = tasks;
  expect_hosts(requests_of(options, hints), {true, true, true});
  hints.aggregators = 0;
  hints.config_list = "*:1";
  expect_hosts(requests_of(options, hints), {true, true, true});
}

TEST(OneHost, IsNotChosenIfHostsShareACache) {
  test::HostsOptions options = gluster();
  options.coherence = Coherence::coherent;
  options.data_host = 1;
  Hints hints;
  hints.collective_write = hints.collective_read = Choice::enabled;
  expect_hosts(requests_of(options, hints), {true, true, true});
}

}  // namespace
}  // namespace sheaf::one_host_test
