#include "comm/mpi_patience.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace sheaf::mpi {

namespace {
using clock = std::chrono::steady_clock;
constexpr auto yielding = std::chrono::milliseconds(1);
constexpr auto shortest_sleep = std::chrono::microseconds(50);
constexpr auto longest_sleep = std::chrono::microseconds(500);
}  // namespace

void wait(MPI_Request& request, const char* call) {
  const auto begin = clock::now();
  auto sleep = shortest_sleep;
  for (;;) {
    int done = 0;
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
    if (done) return;
    if (clock::now() - begin < yielding) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(sleep);
      sleep = std::min(longest_sleep, 2 * sleep);
    }
  }
}

void meet(MPI_Comm comm) {
  patiently("MPI_Ibarrier", [&](MPI_Request* request) { return MPI_Ibarrier(comm, request); });
}

}  // namespace sheaf::mpi
