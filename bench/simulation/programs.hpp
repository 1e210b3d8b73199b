// simulation/programs: what the tasks of the papers' experiments do, with the real library where it takes
// part, noted on a tape.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/machine.hpp"
#include "simulation/tape.hpp"

namespace sheaf::simulation {

struct ProgramOptions {
  int tasks = 64;
  int files = 1;            // physical files; 0: one per client of the file system
  int64_t bytes = 1 << 20;  // of each task
  int64_t call = 0;         // bytes of a call; 0: all in one
  int64_t told = 0;         // block size that the library is told; 0: the file system's
  bool data = true;         // false: open and close only
  bool reads = true;
  bool directories = false;  // one for each task's file
  int writers = 0;           // tasks of a client that transfer at once; 0: all
  int64_t piece = 1 << 20;   // of a shared file: bytes of its smallest piece
  int64_t points = 64;       // of a dimension of an array
  int dumps = 1;             // as often as that, one behind the other
  int aggregators = 0;       // 0: as the library chooses
  int64_t buffer = 4 << 20;  // bytes of an aggregator
  int64_t skip = 1;          // of a loop of single calls only every so many-th is made
  std::string off;           // optimisations switched off, as in SHEAF_MPIIO_OFF
  std::string words;         // more for the open mode of a multifile

  bool set(std::string_view word);  // as Machine::set()
};

struct Noted {
  Tape tape;
  std::vector<std::string> phases;  // what ends with each
};

std::vector<std::string_view> program_names();

// Throws Error invalid_argument for a name that is none, and what the library throws.
Noted run_program(std::string_view name, const ProgramOptions& options, const Machine& machine);

}  // namespace sheaf::simulation
