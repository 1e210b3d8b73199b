// support/fibers/fiber_comm: very many tasks in one thread, for tests and scale simulations.
//
// Every task is a fiber (Boost.Context) that runs the same body with its own Comm. A task runs until it waits
// in a collective, yields or ends; then the next ready one runs, in an order that a seed determines: a run
// can be repeated exactly. All collectives synchronize the group, the strictest behaviour MPI allows.
//
// What a real machine would hang in is found and thrown: deadlock (nobody can run, not all have ended) and
// tasks of a group that make different calls, or calls with different roots or lengths.
//
// Memory: one lazily touched stack per task (usually one or two pages resident), 24 bytes per Comm, about 80
// bytes of bookkeeping per task, state per group. Stacks have no guard pages (the kernel limits mappings): an
// overflow is found by a canary at the next switch and ends the process. Under AddressSanitizer stacks are
// eight times as large. Measured on a shared virtual machine (Xeon, 2 cores): a switch costs 65 ns among
// 1,000 tasks; among 1,048,576 (4.2 GiB resident, one page each) about 260 ns in rank order and 1.3 us in
// seeded order, all of it misses on the stacks, which prefetching did not hide.
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
  size_t stack_bytes = 16384;  // per task, rounded up to pages
  uint64_t seed = 0;       // 0: round robin in rank order; else seeded random choice among the ready tasks
  int ranks_per_node = 1;  // every so many consecutive ranks share a node
};

struct FiberReport {
  Traffic traffic;         // the largest of each count over the tasks
  int64_t switches = 0;    // from task to task
  size_t stack_bytes = 0;  // reserved per task
  std::string deadlock;    // who waits in what; empty if all tasks ended by themselves
};

// Runs body on `ranks` tasks and returns when all have ended. Throws, first match:
// - the deadlock, as Error mismatch that names the waiting tasks, what they wait in and the first exception
// - the exception that left the body of the lowest rank
// In a deadlock, and if calls of a group do not match, the waiting calls throw in their tasks, so that stacks
// unwind.
FiberReport run_fibers(const FiberOptions& options, const std::function<void(Comm&)>& body);

// The same, but hands out what left each body: one entry per rank, null if it returned. Throws only if the
// run cannot be set up (Error). report: filled if not null.
std::vector<std::exception_ptr> run_fibers_collect(const FiberOptions& options,
                                                   const std::function<void(Comm&)>& body,
                                                   FiberReport* report = nullptr);

// Lets other ready tasks run. Does nothing outside run_fibers.
void yield();

// What the running task has done. Within a run only.
Traffic traffic_of_this_task();

// Rank of the task to whose memory an allocation made now belongs; -1 if it is the simulator's own (what
// travels or waits on the network of a real machine) or if there is no run. For tests that count memory.
int memory_owner();

}  // namespace sheaf
