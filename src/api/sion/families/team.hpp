// api/sion/families/team: communication among the threads of an OpenMP team. Only files compiled with OpenMP
// may include this header.
//
// The constructs are orphaned: they bind to the innermost team of the calling threads. Concurrent teams,
// nested or started by different threads, therefore cannot mix.
#pragma once

#include <omp.h>

#include <algorithm>
#include <memory>
#include <string>

#include "api/sion/handles/handle.hpp"
#include "api/sion/opening.hpp"
#include "comm/collective_call.hpp"
#include "comm/packing.hpp"
#include "comm/reduce.hpp"
#include "comm/threads/thread_comm.hpp"

namespace sheaf::api {

// Returns the job end of the current OpenMP team (comm/collective_call). Local.
inline JobEnd team_job_end() { return process_job_end(omp_get_thread_num(), omp_get_num_threads()); }

// Creates a Comm over the current OpenMP team and returns the Comm of this thread. Collective over the team.
// On failure throws on all threads.
inline std::unique_ptr<Comm> start_team() {
  std::shared_ptr<ThreadTeam> team;
  const int size = omp_get_num_threads();
#pragma omp single copyprivate(team)
  {
    attempt([&] { team = make_thread_team(size); });  // exceptions must not leave the region
  }
  if (!team) throw std::bad_alloc();
  return thread_comm(std::move(team), omp_get_thread_num());
}

// Verifies that the threads of the current OpenMP team may close their handles together: a team of the same
// size opened the multifile, and every thread passes a different handle of it. Collective over the team. If a
// check fails, throws on all threads.
inline void check_team_closes(int sid) {
  const std::unique_ptr<Comm> team = start_team();
  int64_t thread = 0;
  std::shared_ptr<ThreadTeam> opened_by;
  auto problem = attempt([&] {
    if (!find_handle(sid))
      throw Error(Code::invalid_argument, "invalid file identifier " + std::to_string(sid));
    Comm* const comm = comm_of(sid);
    if (comm) opened_by = comm->thread_team();
    if (!opened_by) throw Error(Code::wrong_mode, "the handle was not opened by a team of threads");
    thread = comm->rank();
  });
  MinMax teams(static_cast<int64_t>(reinterpret_cast<intptr_t>(opened_by.get())));
  agree(*team, problem, teams);
  const Gathered all = team->gather(std::as_bytes(std::span(&thread, 1)), 0);
  problem = attempt([&] {
    if (!teams.is_same()) throw Error(Code::mismatch, "the threads of the team close different multifiles");
    const int opened = thread_team_size(*opened_by);
    if (opened != team->size())
      throw Error(Code::mismatch, "a team of " + std::to_string(team->size()) + " threads closes what " +
                                      std::to_string(opened) + " threads opened");
    if (team->rank() != 0) return;
    auto tasks = records_of<int64_t>(all);
    std::ranges::sort(tasks);
    if (std::ranges::adjacent_find(tasks) != tasks.end())
      throw Error(Code::mismatch, "two threads of the team close the same handle");
  });
  agree(*team, problem);
}

}  // namespace sheaf::api
