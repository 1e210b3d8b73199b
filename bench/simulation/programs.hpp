// simulation/programs: the programs of the papers' experiments, recorded on a tape. Where the library takes
// part, they run its real code.
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
  int64_t bytes = 1 << 20;  // per task
  int64_t call = 0;         // bytes per call; 0: one call for all
  int64_t told = 0;         // block size reported to the library; 0: the file system's
  bool data = true;         // false: open and close only
  bool reads = true;
  bool directories = false;  // one directory per task's file
  int writers = 0;           // tasks of a client that transfer at a time; 0: all
  int64_t piece = 1 << 20;   // bytes of the smallest piece of a shared file
  int64_t points = 64;       // per dimension of an array
  int dumps = 1;             // repetitions, stored consecutively
  int aggregators = 0;       // 0: chosen by the library
  int64_t buffer = 4 << 20;  // bytes per aggregator
  // Programs with shared files run the library with 1/scale of all bytes, and the tape has them all: a
  // thousand tasks that exchange gigabytes in small pieces take less memory and time. Must divide the sizes.
  int64_t scale = 1;
  int64_t skip = 1;      // stride in loops of single calls: only every skip-th is made
  std::string off;       // words as in SHEAF_MPIIO_OFF; others select calls (shared_programs.cpp)
  std::string exchange;  // words as in SHEAF_EXCHANGE
  std::string words;     // further words of the open mode of a multifile

  bool set(std::string_view word);  // like Machine::set()
};

struct RecordedProgram {
  SimulationTape tape;
  std::vector<std::string> phases;  // names of the phases
};

std::vector<std::string_view> program_names();

// Throws Error invalid_argument for an unknown name, and the errors of the library.
RecordedProgram run_program(std::string_view name, const ProgramOptions& options, const Machine& machine);

}  // namespace sheaf::simulation
