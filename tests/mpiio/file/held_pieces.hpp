// Small pieces of all tasks, for tests of independent writes that wait in memory.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "mpiio/file/shared_file.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/hosts_store.hpp"

namespace sheaf::held_pieces {

using namespace mpiio;
using layout::TypeMap;

inline constexpr int tasks = 3;
inline constexpr SharedMode both{.read = true, .write = true, .create = true};

// SmallPieces of 4 bytes that belong to the tasks in turn. Each task writes its own pieces in one call.
struct SmallPieces {
  static constexpr int64_t length = 4, pieces = 3000, bytes = length * pieces, size = tasks * bytes;

  static View view_of(int task) {
    return {.displacement = length * task, .filetype = TypeMap::bytes(length).resized(0, length * tasks)};
  }
  static std::vector<std::byte> of(int task, int round = 0) {
    std::vector<std::byte> data(bytes);
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<std::byte>(101 * task + 13 * round + static_cast<int>(i % 241));
    return data;
  }
  static void check(const std::vector<std::byte>& found, int round = 0) {
    ASSERT_EQ(std::ssize(found), size);
    for (int task = 0; task < tasks; ++task) {
      const auto mine = of(task, round);
      for (int64_t i = 0; i < bytes; ++i)
        ASSERT_EQ(found[static_cast<size_t>(view_of(task).offset_of(i))], mine[static_cast<size_t>(i)])
            << "byte " << i << " of task " << task;
    }
  }
};

inline Source from(const std::vector<std::byte>& data) {
  return {data.data(), TypeMap::bytes(1), std::ssize(data)};
}
inline Destination into(std::vector<std::byte>& data) {
  return {data.data(), TypeMap::bytes(1), std::ssize(data)};
}

inline Hints hold(Choice choice) {
  Hints hints;
  hints.hold_writes = choice;
  return hints;
}

template <class Body>
void on_hosts(Body body) {
  run_fibers({.ranks = tasks, .stack_bytes = 256 << 10}, body);
}

// Runs body(comm, file) on a task per host, which has opened "file" of the hosts with hold(choice), and
// closes the file.
template <class Body>
void with_file(const test::SimulatedHosts& hosts, Choice choice, Body body) {
  on_hosts([&](Comm& comm) {
    test::HostsStore store(hosts, comm.rank(), comm.rank());
    const auto file = SharedFile::open(comm.duplicate(), store, "file", both, hold(choice));
    body(comm, *file);
    file->close();
  });
}

}  // namespace sheaf::held_pieces
