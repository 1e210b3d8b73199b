// simulation/replay: runs a tape on a modelled machine and returns when each phase ends.
//
// Every task executes its steps in order. A shared resource serves one request at a time, in the order of the
// requests: the link of a client, each server, the node of a directory or of a file, and each block while it
// moves from one client to another. A client caches blocks. A completely written block is sent to its server
// while the task continues. Other blocks are sent when the client needs space, when another client requests
// them, or when the file is closed there; they cost Machine::partial blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "simulation/machine.hpp"
#include "simulation/tape.hpp"

namespace sheaf::simulation {

struct Counts {
  int64_t creates = 0, opens = 0, opens_again = 0;
  int64_t writes = 0, reads = 0;                                  // calls of tasks
  int64_t bytes_written = 0, bytes_read = 0;                      // in these calls
  int64_t whole_blocks = 0, partial_blocks = 0, blocks_read = 0;  // at the servers
  int64_t revoked = 0;                                            // blocks taken from another client
  int64_t meetings = 0;                                           // collective calls, exchanges included
};

struct Outcome {
  std::vector<double> phases;  // end of each phase, in seconds from the start
  double end = 0;              // end of the last task, in seconds from the start
  Counts counts;
};

Outcome replay(const Tape& tape, const Machine& machine);

}  // namespace sheaf::simulation
