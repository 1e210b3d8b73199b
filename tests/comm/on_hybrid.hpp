// on_hybrid: runs a body on hybrid tasks. Threads simulate the processes as well.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "comm/comm_contract.hpp"
#include "comm/on_threads.hpp"
#include "comm/threads/hybrid_comm.hpp"

namespace sheaf::test {

using Shape = std::pair<int, int>;  // number of processes, number of threads of each process

// Calls body(comm) on processes x threads tasks.
inline void on_hybrid(Shape shape, const std::function<void(Comm&)>& body) {
  const auto [processes, threads] = shape;
  const auto masters = make_thread_team(processes);
  std::vector<std::shared_ptr<ThreadTeam>> teams;
  for (int p = 0; p < processes; ++p) teams.push_back(make_thread_team(threads));
  on_threads(processes * threads, [&, per = threads](int task) {
    const int p = task / per;
    const int t = task % per;
    const auto comm = hybrid_comm(t == 0 ? thread_comm(masters, p) : nullptr,
                                  thread_comm(teams[static_cast<size_t>(p)], t));
    require(comm->rank() == task, "rank is process * threads + thread");
    body(*comm);
  });
}

}  // namespace sheaf::test
