#include "simulation/file_system.hpp"

#include <algorithm>
#include <utility>

namespace sheaf::simulation {

namespace {

// Returns a pseudorandom number.
uint64_t mixed(uint64_t x) {
  x = (x + 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 29)) * 0x94D049BB133111EBu;
  return x ^ (x >> 32);
}

}  // namespace

ModelledFiles::ModelledFiles(const Machine& machine, int clients, int files, int directories)
    : machine_(machine),
      clients_(static_cast<size_t>(clients)),
      files_(static_cast<size_t>(files)),
      directories_(static_cast<size_t>(directories)),
      servers_(static_cast<size_t>(machine.servers)) {}

double ModelledFiles::create(int client, int number, int place, double now) {
  clock_ = now;
  OneFile& file = files_[static_cast<size_t>(number)];
  ModelledDirectory& directory = directories_[static_cast<size_t>(place)];
  ++file.openers[client];
  file.known[client] = true;
  if (directory.user != client) directory.user = directory.user == -1 ? client : -2;
  const int64_t before = directory.files++;
  if (machine_.one_server)
    return names_.serve(clock_, now, machine_.create + machine_.create_more * static_cast<double>(before));
  if (directory.user == client) return directory.node.serve(clock_, now, machine_.create_alone);
  return directory.node.serve(clock_, now,
                              machine_.create + machine_.create_more * static_cast<double>(before));
}

double ModelledFiles::open(int client, int number, double now) {
  clock_ = now;
  OneFile& file = files_[static_cast<size_t>(number)];
  ++file.openers[client];
  const bool known = std::exchange(file.known[client], true);
  ++(known ? counts_.opens_again : counts_.opens);
  if (machine_.one_server) return names_.serve(clock_, now, machine_.open);
  if (known) return clients_[static_cast<size_t>(client)].link.serve(clock_, now, machine_.open_again);
  return file.node.serve(clock_, now, machine_.open);
}

// Records a close. If no other task of the client has the file open, evicts the client's blocks of it.
double ModelledFiles::close(int client, int number, double now) {
  clock_ = now;
  OneFile& file = files_[static_cast<size_t>(number)];
  if (--file.openers[client] > 0) return now;
  Client& mine = clients_[static_cast<size_t>(client)];
  std::vector<Key> keys;
  for (const Key key : mine.order)
    if (file_of(key) == number) keys.push_back(key);
  double end = sync(client, now);
  for (const Key key : keys) {
    end = std::max(end, flush(client, key, now));
    forget(mine, key);
  }
  return end;
}

double ModelledFiles::sync(int client, double now) {
  clock_ = now;
  std::deque<double>& flights = clients_[static_cast<size_t>(client)].flights;
  for (const double arrives : flights) now = std::max(now, arrives);
  flights.clear();
  return now;
}

// Sends whole blocks in the background, as many as the client has buffers for.
double ModelledFiles::send_off(Client& client, double arrives, double now) const {
  client.flights.push_back(arrives);
  while (static_cast<int64_t>(client.flights.size()) > machine_.buffers) {
    now = std::max(now, client.flights.front());
    client.flights.pop_front();
  }
  return now;
}

// Returns the server of a block. The blocks of a file are distributed round-robin over its servers. If all
// files are on all servers, every round starts with a different server, because otherwise equal chunks of
// tasks would all start on the same servers.
ModelledFiles::Resource& ModelledFiles::server_of(Key key) {
  const auto servers = static_cast<uint64_t>(machine_.servers);
  const uint64_t stripes =
      machine_.stripes > 0 ? std::min<uint64_t>(static_cast<uint64_t>(machine_.stripes), servers) : servers;
  // A file starts on the server after the preceding file's. If another file already starts there, it starts
  // one server further.
  const uint64_t given = static_cast<uint64_t>(file_of(key)) * stripes;
  const auto placement = static_cast<uint64_t>(machine_.scattered);
  const uint64_t first = (placement > 0 ? mixed((placement - 1) << 32 | static_cast<uint64_t>(file_of(key)))
                                        : given + given / servers) %
                         servers;
  uint64_t block = key & ((uint64_t{1} << 40) - 1);
  if (machine_.stripes == 0)
    block += ((block / stripes + static_cast<uint64_t>(file_of(key)) * 1000003) * 0x9E3779B97F4A7C15u) >> 40;
  return servers_[(first + block % stripes) % servers];
}

// Writes to the server the part of a block that only the client has.
double ModelledFiles::flush(int client, Key key, double now) {
  ModelledBlock& block = blocks_[key];
  if (block.holder != client || block.dirty == 0) return now;
  const int64_t dirty = std::exchange(block.dirty, 0);
  ++counts_.partial_blocks;
  const double bytes = machine_.partial * static_cast<double>(machine_.sectors_of(dirty));
  return block.free =
             server_of(key).serve(clock_, now, machine_.server_request + bytes / machine_.server_write);
}

double ModelledFiles::revoke(int client, ModelledBlock& block, Key key, double now) {
  if (block.holder < 0 || block.holder == client) return now;
  ++counts_.revoked;
  now = std::max(now, block.free) + machine_.token;
  now = flush(block.holder, key, now);
  forget(clients_[static_cast<size_t>(block.holder)], key);
  block.holder = -1;
  return now;
}

void ModelledFiles::forget(Client& client, Key key) {
  const auto found = client.blocks.find(key);
  if (found == client.blocks.end()) return;
  client.order.erase(found->second.place);
  client.blocks.erase(found);
}

// Records that the client has the block. May evict an older block.
double ModelledFiles::keep(Client& client, int number, Key key, double now, double arrives) {
  forget(client, key);
  client.order.push_front(key);
  client.blocks[key] = {client.order.begin(), arrives};
  if (static_cast<int64_t>(client.blocks.size()) <= machine_.buffers) return now;
  const Key last = client.order.back();
  now = flush(number, last, now);
  forget(client, last);
  return now;
}

// Executes an operation at a file's node for its clients. If the file has a single client, the client
// executes it itself.
double ModelledFiles::at_node(OneFile& file, double seconds, double now) {
  if (seconds == 0 || file.known.size() < 2) return now;
  return file.node.serve(clock_, now, seconds);
}

// Writes a block, or its part of `length` bytes, to its server.
double ModelledFiles::write_block(Key key, int64_t length, double now) {
  const bool is_whole = length == machine_.block;
  ++(is_whole ? counts_.whole_blocks : counts_.partial_blocks);
  const auto bytes = static_cast<double>(length);
  double seconds =
      machine_.server_request + (is_whole ? 1 : machine_.partial) * bytes / machine_.server_write;
  if (machine_.raid > 0 && machine_.block % machine_.raid != 0) {  // reads the stripe, then writes
    const double stripe = bytes * static_cast<double>(machine_.raid) / static_cast<double>(machine_.block);
    seconds = std::max(seconds, 2 * machine_.server_request + (bytes + stripe) / machine_.server_write);
  }
  return server_of(key).serve(clock_, now, seconds);
}

double ModelledFiles::write(int client, int file, int64_t offset, int64_t length, bool first, double now) {
  clock_ = now;
  Client& mine = clients_[static_cast<size_t>(client)];
  now = mine.link.serve(
      clock_, now,
      (first ? machine_.request : 0) + static_cast<double>(length) / (machine_.client_write - lost(mine)));
  const Key key = key_of(file, offset / machine_.block);
  ModelledBlock& block = blocks_[key];
  const bool existed = block.exists;
  now = revoke(client, block, key, now);
  if (!std::exchange(block.exists, true))
    now = at_node(files_[static_cast<size_t>(file)], machine_.allocate, now);
  block.holder = client;
  block.dirty += length;
  if (block.dirty >= machine_.block || machine_.write_through) {
    block.free = write_block(key, std::min(std::exchange(block.dirty, 0), machine_.block), now);
    forget(mine, key);
    return send_off(mine, block.free, now);
  }
  if (existed && !mine.blocks.contains(key)) {  // reads existing data first
    ++counts_.blocks_read;
    const auto bytes = static_cast<double>(machine_.sectors_of(length));
    now = server_of(key).serve(clock_, now, machine_.server_request + bytes / machine_.server_read);
    now = mine.link.serve(clock_, now, bytes / machine_.client_read);
  }
  block.free = now;
  return keep(mine, client, key, now);
}

// Reads a block from its server over the link of the client.
double ModelledFiles::fetch(Client& client, Key key, double now) {
  const auto bytes = static_cast<double>(machine_.block);
  now = at_node(files_[static_cast<size_t>(file_of(key))], machine_.look_up, now);
  ++counts_.blocks_read;
  now = server_of(key).serve(clock_, now, machine_.server_request + bytes / machine_.server_read);
  return client.link.serve(clock_, now, bytes / (machine_.client_read - lost(client)));
}

// Returns the bytes per second that the client loses because many of its tasks transfer: nothing up to a
// quarter of its tasks, then linearly more.
double ModelledFiles::lost(const Client& client) const {
  const double quarter = machine_.tasks_per_client / 4.0;
  return machine_.client_loss * std::clamp((client.active - quarter) / (3 * quarter), 0.0, 1.0);
}

// Reads further blocks for a task whose last three blocks had equal distances, or that reads consecutive
// ones.
void ModelledFiles::read_ahead(Client& client, int number, int task, Key key, double now) {
  if (machine_.ahead == 0) return;
  TaskReads& reads = reads_[task];
  if (key == reads.last) return;
  const auto distance = static_cast<int64_t>(key - reads.last);
  const bool is_regular = distance > 0 && (distance == reads.distance || distance == 1);
  reads = {key, distance};
  for (int i = 1; is_regular && i <= machine_.ahead; ++i) {
    const Key next = key + static_cast<Key>(distance * i);
    const auto found = blocks_.find(next);
    if (found == blocks_.end() || (found->second.holder >= 0 && found->second.holder != number)) return;
    if (!client.blocks.contains(next)) keep(client, number, next, now, fetch(client, next, now));
  }
}

double ModelledFiles::read(int client, int task, int file, int64_t offset, bool first, double now) {
  clock_ = now;
  Client& mine = clients_[static_cast<size_t>(client)];
  const Key key = key_of(file, offset / machine_.block);
  if (const auto cached = mine.blocks.find(key); cached != mine.blocks.end()) {
    now = std::max(now, cached->second.arrives);
  } else {
    now = revoke(client, blocks_[key], key, now);
    now = fetch(mine, key, now);
  }
  read_ahead(mine, client, task, key, clock_);
  now = keep(mine, client, key, now, now);
  return first ? mine.link.serve(clock_, now, machine_.request) : now;
}

void ModelledFiles::count(ReplayCounts& counts) const {
  counts.opens = counts_.opens;
  counts.opens_again = counts_.opens_again;
  counts.whole_blocks = counts_.whole_blocks;
  counts.partial_blocks = counts_.partial_blocks;
  counts.blocks_read = counts_.blocks_read;
  counts.revoked = counts_.revoked;
}

}  // namespace sheaf::simulation
