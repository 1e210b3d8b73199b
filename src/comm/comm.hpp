// comm/comm: the only way in which tasks communicate.
//
// A Comm is one task's handle of a group of `size()` tasks, numbered 0..size()-1. All calls except rank() and
// size() are collective over the group: every task makes the same calls in the same order. A Comm knows
// nothing about files. Its messages never mix with those of the program.
//
// Errors: arguments that disagree between tasks (lengths, roots) are a bug of the caller. If the transport
// fails, the task that observes the failure throws sheaf::Error; groups over MPI follow the error handler of
// the communicator.
// Memory: a task holds O(1) bytes plus its own contribution; the root of a gather or scatter holds all
// contributions.
// Threads: at most one call at a time on one Comm.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/export.hpp"

namespace sheaf {

class SharedMemory;
class RootRelay;   // comm/threads/star_comm.hpp
class ThreadTeam;  // comm/threads/thread_comm.hpp

// One contribution per task of the group, concatenated in rank order. Filled at the root only.
struct SHEAF_EXPORT Gathered {
  std::vector<std::byte> bytes;  // all contributions, concatenated
  std::vector<int64_t> sizes;    // bytes of each contribution; size() entries

  // Returns the offset of each contribution in `bytes`, and the total: size()+1 entries.
  std::vector<int64_t> offsets() const;
  // Returns a view of each contribution.
  std::vector<std::span<const std::byte>> pieces() const;
  std::vector<std::span<std::byte>> receive_buffers();  // writable views of each contribution
  // Appends one contribution.
  void add(std::span<const std::byte> piece);

  // Serializes all contributions into one message: the sizes, then the bytes.
  std::vector<std::byte> packed() const;
  // Parses a message of packed() with `count` contributions. Does not validate the sizes. Throws damaged if
  // the message is too short to hold `count` sizes.
  static Gathered unpacked(std::span<const std::byte> message, size_t count);
};

// A message to or from a task of the group, possibly this one. The memory belongs to the caller and must stay
// valid until the exchange is finished. `room` may be longer than the message received.
struct Outgoing {
  int peer = 0;
  std::span<const std::byte> bytes;  // at most 2 GiB - 1
};
struct Incoming {
  int peer = 0;
  std::span<std::byte> room;
};

// Messages in flight. Must be finished before it is destroyed, even if another operation failed.
class SHEAF_EXPORT Exchange {
 public:
  virtual ~Exchange() = default;

  // Collective. Returns the number of bytes received for each Incoming, in their order. Throws mismatch if a
  // message is missing or longer than its buffer.
  virtual std::vector<int64_t> finish() = 0;
};

// How the messages of an Exchanger travel: one by one; by one MPI_Ialltoallv over all tasks; or by one
// MPI_Ineighbor_alltoallw over a graph of the tasks that exchange messages (Blue Gene/L paper,
// section 3.5.1).
enum class ExchangeMethod : uint8_t { messages, alltoallv, neighbours };

// Starts exchanges between the same tasks. Its group must outlive it.
class SHEAF_EXPORT Exchanger {
 public:
  virtual ~Exchanger() = default;  // collective

  // Collective. Like Comm::exchange(), with these restrictions: all peers are among those of the Exchanger,
  // and the room for a message has exactly the length of the message.
  virtual std::unique_ptr<Exchange> start(std::vector<Outgoing> outgoing, std::vector<Incoming> incoming) = 0;
};

// How reduce_by() combines numbers: as reduce() does; by one MPI_Allreduce over all tasks; or by one
// MPI_Allgather, after which each task combines the numbers of all tasks (Blue Gene/L paper, section 3.5.2).
enum class ReductionMethod : uint8_t { hosts, allreduce, allgather };

// How the numbers of all tasks are combined: maximum, sum, or exclusive scan (the sum over lower ranks; 0 at
// rank 0).
enum class Reduction : uint8_t { max, sum, exclusive_scan };

// Whether all tasks of a group have reached the same call; `unknown` if this kind of group cannot determine
// that.
enum class Presence : uint8_t { all, missing, unknown };

// How to end the job to which a group belongs (comm/collective_call.hpp).
struct JobEnd {
  void (*now)() = nullptr;  // does not return; null if no other task can wait for this one
  int task = 0;             // rank in the group, for the message
};

class SHEAF_EXPORT Comm {
 public:
  virtual ~Comm() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Returns the granularity of splits, in ranks. The groups of a split can communicate independently of each
  // other only if each consists of whole blocks of grain() consecutive ranks that begin at multiples of
  // grain(). Local.
  virtual int grain() const { return 1; }

  virtual void barrier() = 0;

  // Copies `data` of `root` to all tasks. The length must be the same on all tasks.
  virtual void broadcast(std::span<std::byte> data, int root) = 0;

  // Combines `values` element by element over the tasks, in place. Every task gets the result.
  virtual void reduce(Reduction how, std::span<int64_t> values) = 0;
  void all_max(std::span<int64_t> values) { reduce(Reduction::max, values); }
  void all_sum(std::span<int64_t> values) { reduce(Reduction::sum, values); }
  void prefix_sum(std::span<int64_t> values) { reduce(Reduction::exclusive_scan, values); }

  // Computes prefix_sum(values) and stores the sums over all tasks in `totals`, which has as many elements.
  virtual void prefix_sum_and_total(std::span<int64_t> values, std::span<int64_t> totals);

  // Computes reduce(how, values) by `method`, which is the same on all tasks. `how` is max or sum. The
  // default implementation calls reduce(), or gather() and broadcast().
  virtual void reduce_by(ReductionMethod method, Reduction how, std::span<int64_t> values);

  // Collects contributions of any length (0 included) at `root`. Returns an empty result on all other tasks.
  virtual Gathered gather(std::span<const std::byte> mine, int root) = 0;

  // Sends contribution r of `pieces` from `root` to task r and returns this task's contribution. `pieces` is
  // ignored on all other tasks.
  virtual std::vector<std::byte> scatter(const Gathered& pieces, int root) = 0;

  // Sends bytes [r*n, (r+1)*n) of `pieces` from `root` to task r, where n is the length of `mine`, equal on
  // all tasks. `pieces` is ignored on all other tasks. The default implementation calls scatter().
  virtual void scatter_equal(std::span<const std::byte> pieces, std::span<std::byte> mine, int root);

  // Starts messages between tasks. `incoming` has one entry for every message addressed to this task; entries
  // of the same sender are in sending order. Every task of the group starts and finishes the same exchanges
  // in the same order, possibly with no messages of its own. Several exchanges may be in flight. Messages
  // need not make progress before finish(); MPI groups transfer them in the background. The default
  // implementation gathers them at task 0 and scatters them in finish().
  virtual std::unique_ptr<Exchange> exchange(std::vector<Outgoing> outgoing, std::vector<Incoming> incoming);

  // Collective. Creates an Exchanger. `peers` are the tasks, in ascending order, that send messages to this
  // task or receive messages from it. If a task names a peer, that peer names the task. `largest`: maximum
  // bytes that a task sends, or receives, in one exchange. `method` and `largest` are the same on all tasks.
  // The default implementation uses exchange(), whatever the method.
  virtual std::unique_ptr<Exchanger> exchanger(ExchangeMethod method, std::span<const int> peers,
                                               int64_t largest);

  // Creates one group per distinct color (>= 0), ordered by (key, rank). Returns null for a negative color.
  virtual std::unique_ptr<Comm> split(int color, int key) = 0;

  // Creates an independent group of the same tasks. The default implementation splits into one group.
  virtual std::unique_ptr<Comm> duplicate() { return split(0, rank()); }

  // Creates the group of all tasks that share memory with this one (a host), in rank order.
  virtual std::unique_ptr<Comm> split_by_node() = 0;

  // Collective. Allocates `bytes` > 0 of memory shared by all tasks of the group (comm/shared_memory.hpp).
  // Returns null on all tasks if the allocation fails. The default implementation always returns null. The
  // content is undefined: a later call may return memory that an earlier call returned and all tasks have
  // released.
  virtual std::shared_ptr<SharedMemory> share_memory(size_t /*bytes*/) { return nullptr; }

  // Checks whether all tasks of the group call this within `timeout` of each other with `ready` set. Not
  // collective: a missing task does not block the others. If one task gets `all`, every task does, and the
  // group is usable. After `missing` the group must not be used again, since late tasks may still send. Takes
  // at most three times `timeout`. The default implementation returns unknown at once.
  virtual Presence wait_for_all(bool /*ready*/, std::chrono::milliseconds /*timeout*/) {
    return Presence::unknown;
  }

  // Returns the number of groups that split_by_node() creates.
  virtual int node_count();

  // Returns the number of processors of this task's host, at least 1. Local.
  virtual int processors() const;

  // Returns how to end the job if this task cannot take part in a call any more. Local.
  virtual JobEnd job_end() const { return {}; }

  // Returns the team of threads that forms this group; null if the group is not within one process.
  virtual std::shared_ptr<ThreadTeam> thread_team() const { return nullptr; }
  // Returns the hub of a star group; the group owns the hub. Returns null for other groups.
  virtual RootRelay* relay() const { return nullptr; }
};

// Creates a group with a single task.
std::unique_ptr<Comm> self_comm();

}  // namespace sheaf
