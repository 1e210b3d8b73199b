// Output of the simulation: progress, the table of restart ways, JSON lines. Only task 0 prints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "restart.hpp"

namespace particles {

// Measurements of one way. Seconds are sums over all checkpoints written or read, see collective.hpp.
struct WayTimes {
  std::string way;
  Footprint files;         // files of the last checkpoint
  std::int64_t bytes = 0;  // user data of one checkpoint
  int writes = 0;
  double write_seconds = 0;
  int reads = 0;
  double read_seconds = 0;
};

// Formats a number as "1,234,567".
std::string grouped(std::int64_t n);

// Shows progress: on a terminal in a single line on stderr that is overwritten, otherwise in one line on
// stdout per checkpoint.
class Progress {
 public:
  Progress(bool shown, bool as_line, std::int64_t last_step, std::int64_t particles);
  void step_done(std::int64_t step, double seconds);
  void checkpoint_done(std::int64_t step, double seconds);
  void finish();  // ends the line, so that other output can follow

 private:
  void redraw(std::int64_t step) const;

  bool shown_;
  bool as_line_;
  bool line_open_ = false;
  std::int64_t last_step_;
  std::int64_t particles_;
  double per_step_ = 0;
  std::int64_t last_checkpoint_ = -1;
};

void print_table(const std::vector<WayTimes>& times);

// Appends one line per way and one for the run. Throws std::runtime_error.
void append_json(const std::string& path, const std::vector<WayTimes>& times, std::int64_t step,
                 std::int64_t particles, double seconds_per_step, const std::string& state);

}  // namespace particles
