// process_injection: the failures of a real process, by libfailing_calls.so and libfailing_allocations.so.
#pragma once

#include <string>

#include "crash/failing_calls.h"
#include "support/multifile_model.hpp"

namespace sheaf::test::campaign {

enum class ProcessFailure : uint8_t {
  once,
  several,              // two to five calls fail
  from_then_on,         // a call and all later ones fail
  short_transfers,      // interrupted and short transfers; no failure
  killed,               // SIGKILL at a call
  terminated,           // SIGTERM at a call
  read_only_directory,  // no name can be created, renamed or removed
  clock_set_back,       // the clock jumps back; no failure
  no_memory,            // one allocation fails
  no_memory_from_then_on,
  second_job,  // another process opens the file for writing; no failure
};
constexpr int process_failures = 11;

// The failure of a case. It is the same on all processes.
struct ProcessInjection {
  ProcessFailure failure = ProcessFailure::once;
  int error = 0;
  uint64_t seed = 0;

  // Whether a process of a program with `members` tasks may die. Without memory, a collective call of several
  // tasks may end the job (comm/collective_call).
  bool may_die(int members) const {
    return failure == ProcessFailure::killed || failure == ProcessFailure::terminated ||
           (members > 1 && needs_memory());
  }
  bool must_succeed() const {
    return failure == ProcessFailure::short_transfers || failure == ProcessFailure::clock_set_back ||
           failure == ProcessFailure::second_job;
  }
  bool needs_memory() const {
    return failure == ProcessFailure::no_memory || failure == ProcessFailure::no_memory_from_then_on;
  }
  std::string describe() const;
};
ProcessInjection draw_process_injection(uint64_t seed);

// Counts of the libraries in an undisturbed run of the same program.
struct UndisturbedCounts {
  long calls = 0, allocations = 0;
};

// The preloaded libraries. Without them no call fails.
class FailingCalls {
 public:
  FailingCalls();
  bool loaded() const { return plan_ != nullptr; }
  // Starts to count calls on files with names that begin with `prefix`.
  void count(const std::string& prefix) const;
  // Starts to inject the failure into the calls of `process`, one of `processes`. `counted` is from an
  // undisturbed run. At least one process meets the failure.
  void inject(const ProcessInjection& injection, const std::string& prefix, int process, int processes,
              const UndisturbedCounts& counted) const;
  UndisturbedCounts stop() const;
  void inside(bool now) const {
    if (inside_) inside_(now);
  }

 private:
  decltype(&failing_calls_begin) plan_ = nullptr;
  decltype(&failing_calls_count) counted_ = nullptr;
  decltype(&failing_allocations_begin) plan_allocations_ = nullptr;
  decltype(&failing_allocations_count) allocations_ = nullptr;
  decltype(&failing_allocations_inside) inside_ = nullptr;
};

}  // namespace sheaf::test::campaign
