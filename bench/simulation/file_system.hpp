// simulation/file_system: the modelled file system: clients with their links and cached blocks, servers,
// locks of blocks, and metadata.
//
// Every call takes the time `now` at which it is made, in seconds, and returns the time at which it is done.
// Calls must be made in chronological order.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <unordered_map>
#include <vector>

#include "simulation/machine.hpp"
#include "simulation/replay.hpp"

namespace sheaf::simulation {

class ModelledFiles {
 public:
  ModelledFiles(const Machine& machine, int clients, int files, int directories);

  double create(int client, int file, int directory, double now);
  double open(int client, int file, double now);
  double close(int client, int file, double now);
  // Returns the time when all data of the client are at the servers.
  double sync(int client, double now);
  // Writes at most one block. `first`: the piece is the first one of a call.
  double write(int client, int file, int64_t offset, int64_t length, bool first, double now);
  // `task`: the reader, whose blocks the client may read ahead.
  double read(int client, int task, int file, int64_t offset, bool first, double now);

  // A task of the client begins (1) or ends (-1) a transfer.
  void set_active(int client, int change) { clients_[static_cast<size_t>(client)].active += change; }

  void count(ReplayCounts& counts) const;

 private:
  // Serves requests sequentially. `clock` is the time of the call. If a part of the call can only start
  // later, at `now`, the resource serves other requests until then.
  struct Resource {
    double free = 0;
    double serve(double clock, double now, double seconds) {
      free = (clock > free ? clock : free) + seconds;
      return now + seconds > free ? now + seconds : free;
    }
  };
  using Key = uint64_t;  // a block of a file
  struct ModelledBlock {
    int holder = -1;    // client that may write
    int64_t dirty = 0;  // bytes that the holder has not written to the server
    bool exists = false;
    double free = 0;  // time when it can move to another client
  };
  struct Cached {
    std::list<Key>::iterator place;
    double arrives = 0;  // when the client has the block
  };
  struct TaskReads {  // the blocks that a task reads
    Key last = 0;
    int64_t distance = 0;  // between its last two blocks
  };
  struct Client {
    Resource link;
    int active = 0;              // tasks that transfer
    std::deque<double> flights;  // arrival times of the blocks in flight to their servers
    std::list<Key> order;        // blocks, most recently used first
    std::unordered_map<Key, Cached> blocks;
  };
  struct OneFile {
    Resource node;
    std::unordered_map<int, int> openers;  // open handles per client
    std::unordered_map<int, bool> known;   // clients that have opened it
  };
  struct ModelledDirectory {
    Resource node;
    int64_t files = 0;
    int user = -1;  // the only client so far; -2: several
  };

  static Key key_of(int file, int64_t block) {
    return static_cast<Key>(file) << 40 | static_cast<Key>(block);
  }
  static int file_of(Key key) { return static_cast<int>(key >> 40); }
  Resource& server_of(Key key);
  double flush(int client, Key key, double now);
  double revoke(int client, ModelledBlock& block, Key key, double now);
  double keep(Client& client, int number, Key key, double now, double arrives = 0);
  double fetch(Client& client, Key key, double now);
  double lost(const Client& client) const;
  double write_block(Key key, int64_t length, double now);
  void read_ahead(Client& client, int number, int task, Key key, double now);
  void forget(Client& client, Key key);
  double send_off(Client& client, double arrives, double now) const;
  double at_node(OneFile& file, double seconds, double now);

  const Machine& machine_;
  double clock_ = 0;  // time of the current call
  std::vector<Client> clients_;
  std::vector<OneFile> files_;
  std::vector<ModelledDirectory> directories_;
  std::vector<Resource> servers_;
  Resource names_;  // the server of all names
  std::unordered_map<Key, ModelledBlock> blocks_;
  std::unordered_map<int, TaskReads> reads_;  // by task
  ReplayCounts counts_;
};

}  // namespace sheaf::simulation
