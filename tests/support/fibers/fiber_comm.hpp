// support/fibers/fiber_comm: runs up to a million tasks in one thread, for tests and scale simulations.
//
// Every task is a fiber (Boost.Context) that runs the same body with its own Comm. A task runs until it waits
// in a collective, yields or ends. A seed determines the order in which ready tasks run, so a run can be
// repeated exactly. All collectives synchronize the group, the strictest behaviour that MPI allows.
//
// Errors that would hang a real machine are detected and thrown. One is a deadlock: no task can run, and not
// all have ended. Another is a group whose members make different calls or pass different roots or lengths.
//
// Memory: one lazily touched stack per task (usually one or two resident pages), 24 bytes per Comm, about 80
// bytes of bookkeeping per task, state per group. Stacks have no guard pages because the kernel limits
// mappings; a canary detects an overflow at the next switch and ends the process. Under AddressSanitizer
// stacks are eight times as large. Measured on a shared virtual machine (Xeon, 2 cores): a switch costs 65 ns
// among 1,000 tasks. Among 1,048,576 tasks (4.2 GiB resident, one page each) it costs about 260 ns in rank
// order and 1.3 us in seeded order. The difference is cache misses on the stacks, which prefetching did not
// hide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "support/fibers/fiber_traffic.hpp"

namespace sheaf {

struct FiberOptions {
  int ranks = 1;
  size_t stack_bytes = 16384;  // bytes per task, rounded up to pages
  uint64_t seed = 0;  // 0: round robin in rank order; otherwise seeded random choice among the ready tasks
  int ranks_per_node = 1;  // number of consecutive ranks on each host
};

struct FiberReport {
  Traffic traffic;         // maximum of each count over the tasks
  int64_t switches = 0;    // switches between tasks
  size_t stack_bytes = 0;  // bytes reserved per task
  std::string deadlock;    // waiting tasks and their calls; empty if all tasks ended normally
};

// Runs `body` on all ranks of `options` and returns when all have ended. Throws the first error that applies:
// - a deadlock, as Error mismatch that names the waiting tasks, their calls and the first exception
// - the exception that left the body of the lowest rank
// In a deadlock, and if calls of a group do not match, the waiting calls throw in their tasks so that the
// stacks unwind.
FiberReport run_fibers(const FiberOptions& options, const std::function<void(Comm&)>& body);

// Like run_fibers(), but returns one entry per rank: the exception that left its body, or null if the body
// returned. Throws Error only if the run cannot be set up. Fills `*report` unless `report` is null.
std::vector<std::exception_ptr> run_fibers_collect(const FiberOptions& options,
                                                   const std::function<void(Comm&)>& body,
                                                   FiberReport* report = nullptr);

// Lets other ready tasks run. Has no effect outside run_fibers().
void yield();

// Returns the traffic of the running task. Must be called within a run.
Traffic traffic_of_this_task();

// Returns the rank of the task to which memory allocated now is attributed. Returns -1 outside a run, and for
// data that a real machine would keep in its network. Tests that count memory use it.
int memory_owner();

}  // namespace sheaf
