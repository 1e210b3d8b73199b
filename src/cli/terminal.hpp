// cli/terminal: what the command has to do with the terminal and the process around it: progress, signals,
// limits.
#pragma once

#include <chrono>
#include <string>

#include "creation/work_progress.hpp"

namespace sheaf::cli {

// Thrown out of the work in hand after SIGINT, SIGTERM or SIGHUP.
struct Interrupted {
  int signal;
};

// From now on these signals are remembered for check_signals(), and a closed pipe is an error of the write
// instead of the end of the process: whoever writes files calls this before the first of them, so that
// temporary ones are removed. A second signal ends the process at once. Who only reads does not call it: a
// signal then ends any wait.
void catch_signals();
// Throws Interrupted if a signal has come.
void check_signals();
// Ends the process as the signal would have done.
[[noreturn]] void die_of(int signal);

// Sets of many physical files need as many descriptors: as many as the system allows.
void raise_descriptor_limit();

// Flushes stdout; throws an Error if anything could not be written.
void finish_stdout();

// Whether somebody watches stderr.
bool has_terminal();

// Percent and MB/s on stderr if that is a terminal, nothing otherwise. Lets signals end the work.
class TerminalProgress : public WorkProgress {
 public:
  explicit TerminalProgress(std::string label);
  ~TerminalProgress() override;

  void begin(int64_t total_bytes) override;
  void advance(int64_t bytes) override;
  void begin_output(int64_t task, const std::string& final_name) override;

 private:
  using Clock = std::chrono::steady_clock;
  void show(Clock::time_point now);

  std::string label_;
  bool visible_;
  bool shown_ = false;
  int64_t total_ = 0;
  int64_t done_ = 0;
  Clock::time_point start_;
  Clock::time_point last_;
};

}  // namespace sheaf::cli
