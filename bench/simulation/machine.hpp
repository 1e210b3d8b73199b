// simulation/machine: the numbers of a modelled machine: its tasks, the clients of its file system, the
// servers, and what metadata cost. docs/experiments.md says where those of the papers' machines come from.
#pragma once

#include <cstdint>
#include <string_view>

namespace sheaf::simulation {

struct Machine {
  // Tasks. A client is what the file system sees: an I/O node, or the compute node itself.
  int tasks_per_node = 1;  // that share memory
  int tasks_per_client = 1;
  bool in_turn = false;         // tasks are dealt out to clients one by one; else in runs
  double latency = 5e-6;        // seconds of a message
  double port = 1e9;            // bytes per second that a task sends and receives
  double message = 0;           // seconds of a task for every message that it sends or receives itself
  bool gather_in_turn = false;  // a gather is a broadcast of each task, one after the other
  double task = 1e12;           // bytes per second that a task's own calls move

  // Clients.
  double client_write = 1e9;  // bytes per second
  double client_read = 1e9;
  double request = 0;      // seconds of a client for every call
  int64_t fragment = 0;    // calls arrive there in pieces of so many bytes; 0: whole
  int64_t buffers = 1024;  // blocks that a client keeps

  // The file system.
  int64_t block = 1 << 20;  // bytes: what is locked, cached and allocated
  int servers = 1;
  int stripes = 0;            // servers of one file; 0: all
  double server_write = 1e9;  // bytes per second of each
  double server_read = 1e9;
  double server_request = 0;  // seconds of every request
  // Bytes of a stripe of the RAID; a block that is no multiple is read and written as one; 0: none
  int64_t raid = 0;
  // A block that is not written whole costs so many whole ones (the RAID reads and writes its stripe)
  double partial = 2;
  int64_t sector = 0;  // bytes in which parts of a block go to a server and come from there; 0: whole blocks
  double token = 0;    // seconds to take a block from another client

  // Metadata.
  bool one_server = false;     // for all names (Lustre); else directories and files have a node each (GPFS)
  double create = 1e-3;        // seconds in a directory
  double create_more = 0;      // and for every file that it has already
  double create_alone = 1e-3;  // in a directory that no other client uses
  double open = 1e-4;          // seconds at the node of the file, for a client that has not opened it yet
  double open_again = 1e-5;    // seconds of a client that has
  double allocate = 0;         // seconds at the node of the file for each new block, if several clients write
  double look_up = 0;          // the same for each block read

  // Bytes that are moved for `bytes` of a block.
  int64_t sectors_of(int64_t bytes) const {
    return sector > 0 ? (bytes + sector - 1) / sector * sector : block;
  }
  int client_of(int number, int clients) const {
    return in_turn ? number % clients : number / tasks_per_client;
  }

  // "create=2e-3": takes over one number; false for a name or a number that is none.
  bool set(std::string_view word);
};

}  // namespace sheaf::simulation
