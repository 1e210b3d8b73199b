// simulation/replay: runs a tape on a modelled machine and returns when each phase ends.
//
// Every task executes its steps in order. A shared resource serves one request at a time, in the order of the
// requests. Shared resources are the links of the clients, the servers, the nodes of directories and files,
// and each block that moves from one client to another.
//
// A client caches blocks. A completely written block is sent to its server while the task continues. A partly
// written block is sent when the client needs space, when another client requests the block, or when the last
// task of the client closes the file. For such a block, the server needs Machine::partial times the time of
// its bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "simulation/machine.hpp"
#include "simulation/tape.hpp"

namespace sheaf::simulation {

struct ReplayCounts {
  int64_t creates = 0, opens = 0, opens_again = 0;
  int64_t writes = 0, reads = 0;                                  // calls of tasks
  int64_t bytes_written = 0, bytes_read = 0;                      // transferred by calls of tasks
  int64_t whole_blocks = 0, partial_blocks = 0, blocks_read = 0;  // requests to servers
  int64_t revoked = 0;                                            // blocks taken from another client
  int64_t barriers = 0;                                           // collective calls, exchanges included
};

struct ReplayOutcome {
  std::vector<double> phases;  // end of each phase, in seconds from the start
  double end = 0;              // end of the last task, in seconds from the start
  ReplayCounts counts;
};

ReplayOutcome replay(const SimulationTape& tape, const Machine& machine);

}  // namespace sheaf::simulation
