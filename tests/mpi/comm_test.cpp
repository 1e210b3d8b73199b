// Checks the contract of Comm under MPI. Returns 0 if no rank finds a violation, and otherwise prints it and
// aborts.
#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include "base/error.hpp"
#include "comm/comm_contract.hpp"
#include "comm/mpi/mpi_calls.hpp"
#include "comm/mpi/mpi_comm.hpp"
#include "comm/mpi/mpi_hosts.hpp"
#include "comm/shared_memory.hpp"
#include "mpi/made_communicators.hpp"

namespace {

using sheaf::test::require;

void check_topology(int per_node) {
  setenv("SHEAF_TOPOLOGY", ("node=" + std::to_string(per_node)).c_str(), 1);
  const auto comm = sheaf::mpi_comm(MPI_COMM_WORLD);
  const int me = comm->rank(), first = me / per_node * per_node;
  const int expected = std::min(per_node, comm->size() - first);
  const auto node = comm->split_by_node();
  require(node->rank() == me - first && node->size() == expected,
          "SHEAF_TOPOLOGY: consecutive ranks make a node");
  const auto backwards = comm->split(0, -me);
  require(backwards->split_by_node()->size() == expected, "SHEAF_TOPOLOGY: a split keeps the nodes");
  unsetenv("SHEAF_TOPOLOGY");
}

void check_bad_topology() {
  setenv("SHEAF_TOPOLOGY", "node=many", 1);
  const auto comm = sheaf::mpi_comm(MPI_COMM_WORLD);
  bool refused = false;
  try {
    comm->split_by_node();
  } catch (const sheaf::Error& error) {
    refused = error.code() == sheaf::Code::invalid_argument;
  }
  require(refused, "SHEAF_TOPOLOGY: nonsense is refused on all ranks");
  unsetenv("SHEAF_TOPOLOGY");
}

void check_bad_pieces() {
  const auto comm = sheaf::mpi_comm(MPI_COMM_WORLD);
  bool refused = false;
  try {
    comm->scatter({{}, {3}}, 0);
  } catch (const sheaf::Error& error) {
    refused = error.code() == sheaf::Code::invalid_argument;
  }
  require(refused, "scatter: bad pieces are refused on all ranks");
}

// A group must reuse the shared memory of an earlier group of the same tasks.
void check_kept_memory() {
  const auto share = [](size_t bytes) {
    const auto comm = sheaf::mpi_comm(MPI_COMM_WORLD);
    comm->barrier();
    const auto memory = comm->share_memory(bytes);
    require(memory != nullptr, "tasks of a node share memory");
    return memory;
  };
  const auto* const first = share(10000)->bytes().data();
  const auto again = share(10);
  require(again->bytes().data() == first && !again->is_fresh(), "memory is kept for the next group");
}

// A split that repeats the previous split, or has one of its groups, must create no communicator. The library
// must never share groups in use, and must eventually free unused groups.
void check_kept_parts() {
  int made = 0;
  for (int round = 0; round < 4; ++round) {
    const auto comm = sheaf::mpi_comm(MPI_COMM_WORLD);
    const int me = comm->rank();
    const auto node = comm->split_by_node();
    const auto half = comm->split(me % 2, -me);
    const auto same_half = comm->split(me % 2, -me);
    const auto first = comm->split(me == 0 ? 0 : -1, 0);
    const auto copy = comm->duplicate();
    const auto quarter = half->split(half->rank() % 2, half->rank());
    require((first != nullptr) == (me == 0), "a task of no part has none");
    int64_t largest = me, copied = me;
    half->all_max({&largest, 1});
    copy->all_max({&copied, 1});
    require(largest % 2 == me % 2 && copied == comm->size() - 1 && half->rank() == half->size() - 1 - me / 2,
            "kept parts have the tasks that were asked for");
    require(quarter->size() <= (half->size() + 1) / 2, "parts of parts, too");
    // The two halves, and so their cached quarters, may have been swapped in the first repetition.
    if (round > 1) require(sheaf::test::made_communicators == made, "a split that repeats makes nothing");
    made = sheaf::test::made_communicators;
  }
  const auto comm = sheaf::mpi_comm(MPI_COMM_WORLD);
  std::unique_ptr<sheaf::Comm> child;
  for (int i = 0; i < 40; ++i) {
    const auto part = comm->split(comm->rank() % (2 + i), comm->rank());
    require(part->size() == (comm->size() + 1 + i - comm->rank() % (2 + i)) / (2 + i), "each its own tasks");
    if (i == 0) child = part->duplicate();
    child->barrier();
  }
}

// Checks reductions of tasks on several simulated hosts. The tasks are distributed in blocks and round robin,
// with one task per host, with equal numbers of tasks, and with different numbers.
void check_hosts() {
  const auto comm = sheaf::mpi_comm(MPI_COMM_WORLD);
  const int64_t me = comm->rank(), size = comm->size();
  for (const int64_t host : {me / 2, me % 2, me == 0 ? 0 : int64_t{1}, me, int64_t{0}}) {
    sheaf::mpi::HostsReduction hosts(MPI_COMM_WORLD, static_cast<int>(host));
    int64_t most = host;
    comm->all_max({&most, 1});
    int64_t one = me;
    int before = 0;
    while (before < 100 && !hosts.reduce(sheaf::Reduction::max, {&one, 1})) ++before;
    require(before > 0, "tasks that reduce little do not look for their hosts");
    require((before == 100) == (most == size - 1), "tasks of hosts meet if a host has two of them");
    if (before == 100) continue;
    require(one == size - 1, "the maximum");
    for (int64_t round = 0; round < 50; ++round) {
      std::array<int64_t, 3> largest{me * round, -me, 7}, sums = largest;
      require(hosts.reduce(sheaf::Reduction::max, largest) && hosts.reduce(sheaf::Reduction::sum, sums),
              "a few numbers are reduced");
      require(largest == std::array<int64_t, 3>{(size - 1) * round, 0, 7},
              "the maxima of tasks of all hosts");
      require(sums == std::array<int64_t, 3>{size * (size - 1) / 2 * round, -size * (size - 1) / 2, 7 * size},
              "the sums of tasks of all hosts");
    }
    std::vector<int64_t> many(sheaf::ShmBarrier::max_bytes / sizeof(int64_t), me);
    require(!hosts.reduce(sheaf::Reduction::max, many) && many.back() == me, "too many numbers are left");
    hosts.free();
  }
}

// If one task is not ready, no task waits for the timeout.
void check_presence() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (const int unready : {-1, 0, size - 1}) {
    const auto comm = sheaf::mpi_comm(MPI_COMM_WORLD);
    comm->barrier();
    const auto begin = std::chrono::steady_clock::now();
    const sheaf::Presence found = comm->wait_for_all(comm->rank() != unready, std::chrono::seconds(60));
    require(found == (unready < 0 ? sheaf::Presence::all : sheaf::Presence::missing),
            "the outcome on all tasks");
    require(std::chrono::steady_clock::now() - begin < std::chrono::seconds(50),
            "nobody waits for the timeout");
  }
}

void check_failure() {
  bool failed = false;
  try {
    sheaf::mpi::check(MPI_ERR_COMM, "MPI_Xyz");
  } catch (const sheaf::Error& error) {
    failed =
        error.code() == sheaf::Code::io && std::string(error.what()).find("MPI_Xyz: ") != std::string::npos;
  }
  require(failed, "a failing MPI call is an Error with its name");
}

void check_all() {
  const auto comm = sheaf::mpi_comm(MPI_COMM_WORLD);
  sheaf::test::check_comm_contract(*comm);
  // A Comm with a limit of a few bytes per MPI message sends larger data in parts, as it otherwise does for
  // data beyond INT_MAX.
  for (const int largest : {1, 64, 1000}) {
    const auto narrow = sheaf::mpi_comm(MPI_COMM_WORLD, largest);
    sheaf::test::check_comm_contract(*narrow, 20, {3});
  }
  for (const int per_node : {1, 2, 3}) check_topology(per_node);
  check_bad_topology();
  check_bad_pieces();
  check_kept_memory();
  check_kept_parts();
  check_hosts();
  check_presence();
  check_failure();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::unique_ptr<sheaf::Comm> outlives_mpi;
  try {
    check_all();
    outlives_mpi = sheaf::mpi_comm(MPI_COMM_WORLD);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "comm_test: %s\n", failure.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
