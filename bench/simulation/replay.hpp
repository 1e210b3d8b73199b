// simulation/replay: a modelled machine carries out a tape: when does each phase end?
//
// Every task does its steps one after the other. What several of them use, serves one request after the
// other, in the order in which they ask: the link of a client, each server, the node of a directory or of a
// file, and each block while it goes from one client to another. A client keeps blocks: one that is written
// whole goes to its server while the task goes on, another one when the client needs room, when another
// client asks for it, or when the file is closed there, and then costs Machine::partial blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "simulation/machine.hpp"
#include "simulation/tape.hpp"

namespace sheaf::simulation {

struct Counts {
  int64_t creates = 0, opens = 0, opens_again = 0;
  int64_t writes = 0, reads = 0;                                  // calls of tasks
  int64_t bytes_written = 0, bytes_read = 0;                      // of these
  int64_t whole_blocks = 0, partial_blocks = 0, blocks_read = 0;  // at the servers
  int64_t revoked = 0;                                            // blocks taken from another client
  int64_t meetings = 0;                                           // collective calls, exchanges included
};

struct Outcome {
  std::vector<double> phases;  // when each phase ended, in seconds from the start
  double end = 0;              // when the last task had ended
  Counts counts;
};

Outcome replay(const Tape& tape, const Machine& machine);

}  // namespace sheaf::simulation
