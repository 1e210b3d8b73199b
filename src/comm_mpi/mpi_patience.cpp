#include "comm_mpi/mpi_patience.hpp"
#include "comm_mpi/constants.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace sheaf::mpi {

using clock = std::chrono::steady_clock;

void wait(MPI_Request& request, const char* call, MPI_Status* status) {
  const auto begin = clock::now();
  for (;;) {
    int done = 0;
    check(MPI_Test(&request, &done, status), call);
    if (done) return;
    const auto waited = clock::now() - begin;
    if (waited < yielding) {
      sched_yield();
    } else {
      // Late by a sixteenth of what has been waited anyway.
      std::this_thread::sleep_for(std::clamp<clock::duration>(waited / 16, shortest_sleep, longest_sleep));
    }
  }
}

void reduce_by_messages(MPI_Comm comm, Reduction how, std::span<int64_t> values, size_t largest) {
  const bool before = how == Reduction::sum_before;
  in_parts(values, std::max<size_t>(1, largest / sizeof(int64_t)), [&](std::span<int64_t> part) {
    patiently(before ? "MPI_Iexscan" : "MPI_Iallreduce", [&](MPI_Request* request) {
      return (before ? MPI_Iexscan : MPI_Iallreduce)(MPI_IN_PLACE, part.data(), static_cast<int>(part.size()),
                                                     MPI_INT64_T, how == Reduction::max ? MPI_MAX : MPI_SUM,
                                                     comm, request);
    });
  });
  if (before && rank_in(comm) == 0) std::ranges::fill(values, 0);  // MPI leaves it undefined there
}

}  // namespace sheaf::mpi
