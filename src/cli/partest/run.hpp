// cli/partest/run: runs the phases of the benchmark and measures their times.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "cli/partest/options.hpp"
#include "cli/partest/target.hpp"
#include "comm/comm.hpp"

namespace sheaf::partest {

enum PhaseStep { create_step, create_close_step, open_step, transfer_step, close_step, step_count };

// Measurements of one task in one phase, in nanoseconds; `begin` refers to the shared clock.
struct TaskMeasurements {
  int64_t bytes = 0;
  int64_t chunks = 0;
  int64_t file = 0;
  int64_t source = 0;  // number of the task that wrote the data
  std::array<int64_t, step_count> begin = {};
  std::array<int64_t, step_count> time = {};     // duration, without verification of the data read
  std::array<int64_t, step_count> barrier = {};  // wait for the last task at the end of the step
};

struct Phase {
  int type;
  bool writes;  // otherwise reads
  int files;
  std::vector<TaskMeasurements> tasks;  // indexed by task; only on task 0
};

// Runs all requested phases, ordered by test type. Collective. If a step fails, all open files are closed,
// and all tasks throw the same error (comm/agree.hpp), which ends the run. Every task calls done(phase) after
// each phase.
void run(const Options& options, Comm& comm, const std::function<void(const Phase&)>& done);

}  // namespace sheaf::partest
