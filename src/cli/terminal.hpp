// cli/terminal: interaction with the terminal and the process environment: progress, signals, limits.
#pragma once

#include <chrono>
#include <string>

#include "multifile/create/work_progress.hpp"

namespace sheaf::cli {

// Thrown from the current work after SIGINT, SIGTERM or SIGHUP.
struct Interrupted {
  int signal;
};

// Defers these signals until check_signals(), and turns a closed pipe into a write error instead of the end
// of the process. Commands that write files must call this before creating the first file, so that temporary
// files are removed. A second signal ends the process at once. Commands that only read do not call this
// function, so that a signal interrupts any wait.
void catch_signals();
// Throws Interrupted if a signal has arrived.
void check_signals();
// Ends the process as the signal would have done.
[[noreturn]] void die_of(int signal);

// Raises the limit of open descriptors to the maximum, because sets of many physical files need many
// descriptors.
void raise_descriptor_limit();

// Flushes stdout; throws an Error if any output could not be written.
void finish_stdout();

// Returns whether stderr is a terminal.
bool has_terminal();

// Shows percent and MB/s on stderr if that is a terminal. Also checks for signals, which end the work.
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
