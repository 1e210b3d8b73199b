// cli/terminal: handles progress output, signals and resource limits of a command.
#pragma once

#include <chrono>
#include <string>

#include "multifile/create/work_progress.hpp"

namespace sheaf::cli {

// Thrown by check_signals() after SIGINT, SIGTERM or SIGHUP.
struct Interrupted {
  int signal;
};

// Defers SIGINT, SIGTERM and SIGHUP until check_signals(); a second signal ends the process at once. Turns a
// closed pipe into a write error instead of the end of the process. Commands that write files must call this
// function before they create the first file, so that they can remove temporary files. Commands that only
// read do not call it, so that a signal ends them at once.
void catch_signals();
// Throws Interrupted if a signal has arrived.
void check_signals();
// Ends the process by `signal`, with the signal's default action.
[[noreturn]] void die_of(int signal);

// Raises the limit of open descriptors to the maximum, because a multifile needs one descriptor per physical
// file.
void raise_descriptor_limit();

// Flushes stdout. Throws Error if any output could not be written.
void finish_stdout();

// Returns whether stderr is a terminal.
bool has_terminal();

// Shows percent and MB/s on stderr if stderr is a terminal. Calls check_signals() at each step, which ends
// the work after a signal.
class TerminalProgress : public multifile::WorkProgress {
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
