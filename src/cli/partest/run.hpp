// cli/partest/run: runs the phases and takes the times.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "cli/partest/options.hpp"
#include "cli/partest/target.hpp"
#include "comm/comm.hpp"

namespace sheaf::partest {

enum Step { create_step, create_close_step, open_step, transfer_step, close_step, step_count };

// What one task did in one phase. Nanoseconds; begin on the clock that the tasks share.
struct Record {
  int64_t bytes = 0;
  int64_t chunks = 0;
  int64_t file = 0;
  int64_t source = 0;  // task whose data were moved
  std::array<int64_t, step_count> begin = {};
  std::array<int64_t, step_count> time = {};     // in the step itself, without the check of what was read
  std::array<int64_t, step_count> barrier = {};  // waiting for the last task of all afterwards
};

struct Phase {
  int type;
  bool writes;  // else reads
  int files;
  std::vector<Record> tasks;  // on task 0 only
};

// All phases that the options ask for, one test type after the other. Collective; a failure in any step is
// thrown on all tasks alike (comm/agree.hpp) after everything that was open has been closed, and ends the
// run. done(phase) is called on every task after each phase.
void run(const Options& options, Comm& comm, const std::function<void(const Phase&)>& done);

}  // namespace sheaf::partest
