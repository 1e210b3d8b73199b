// simulation/machine: the parameters of a modelled machine: its tasks, the clients of its file system, the
// servers, and the cost of metadata. docs/experiments.md states the sources for the papers' machines.
#pragma once

#include <cstdint>
#include <string_view>

namespace sheaf::simulation {

struct Machine {
  // Tasks. A client is the unit that the file system sees: an I/O node, or the compute node itself.
  int tasks_per_node = 1;  // tasks with shared memory
  int tasks_per_client = 1;
  bool in_turn = false;   // tasks are assigned to clients round-robin; otherwise in blocks
  double latency = 5e-6;  // seconds of a message
  double port = 1e9;      // bytes per second that a task sends and receives
  double message = 0;     // seconds of a task per message that it sends or receives itself
  // Seconds of a broadcast of a few bytes, if a gather to all tasks is a broadcast of each task in turn; 0:
  // it is one collective call
  double broadcast = 0;
  double task = 1e12;  // bytes per second in a task's own calls

  // Clients.
  double client_write = 1e9;  // bytes per second
  double client_read = 1e9;
  double client_loss = 0;  // bytes per second less if all tasks of a client transfer at once
  double request = 0;      // seconds of a client per call
  int64_t fragment = 0;    // calls arrive there in pieces of at most this many bytes; 0: unsplit
  int64_t buffers = 1024;  // blocks that a client caches
  int ahead = 0;           // blocks that a client reads ahead of a task that reads at a regular distance

  // The file system.
  int64_t block = 1 << 20;  // bytes; unit of locks, cache and allocation
  int servers = 1;
  int stripes = 0;  // servers per file; 0: all
  // Files start on pseudorandom servers, in the placement of this number; 0: each on the next server
  int scattered = 0;
  double server_write = 1e9;  // bytes per second per server
  double server_read = 1e9;
  double server_request = 0;  // seconds per request
  // Bytes of a RAID stripe; 0: no RAID. To write a block that is no multiple of it, the RAID reads the
  // stripe.
  int64_t raid = 0;
  bool write_through = false;  // each call goes to the server at once, also a part of a block
  // Cost of a partially written block in whole blocks, because the RAID reads and writes its stripe
  double partial = 2;
  int64_t sector = 0;  // bytes; granularity of partial transfers between client and server; 0: whole blocks
  double token = 0;    // seconds to take a block from another client

  // Metadata.
  bool one_server = false;     // for all names (Lustre); otherwise each directory and file has a node (GPFS)
  double create = 1e-3;        // seconds per file in a directory
  double create_more = 0;      // additional seconds per existing file
  double create_alone = 1e-3;  // seconds in a directory that no other client uses
  double open = 1e-4;          // seconds at the node of the file, for the first open of a client
  double open_again = 1e-5;    // seconds for a further open of the client
  double allocate = 0;         // seconds at the node of the file per new block, if several clients write
  double look_up = 0;          // seconds at the node of the file per block read, likewise

  // Returns the bytes transferred for `bytes` of a block.
  int64_t sectors_of(int64_t bytes) const {
    return sector > 0 ? (bytes + sector - 1) / sector * sector : block;
  }
  int client_of(int number, int clients) const {
    return in_turn ? number % clients : number / tasks_per_client;
  }

  // Sets one parameter, "create=2e-3". Returns false for an unknown name or an invalid number.
  bool set(std::string_view word);
};

}  // namespace sheaf::simulation
