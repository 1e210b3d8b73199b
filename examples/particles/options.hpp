// The command line of the particle simulation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace particles {

struct Options {
  std::int64_t particles = 1'000'000;
  std::int64_t steps = 20;
  std::int64_t checkpoint_every = 5;  // 0: never
  std::int64_t keep = 2;              // newest checkpoints to keep; 0: all
  std::uint64_t seed = 1;
  std::vector<std::string> ways = {"multifile"};
  int files = 1;  // physical files of a multifile; 0: one per host
  std::string directory = ".";
  bool restart = false;
  bool read_back = false;
  std::int64_t die_at_step = -1;
  std::string json;
  bool progress = false;  // one line that is overwritten, even if stderr is not a terminal
  bool quiet = false;
  bool help = false;
};

// Throws std::runtime_error with a message for the user.
Options parse_options(int argc, char** argv);

extern const char* const usage;

}  // namespace particles
