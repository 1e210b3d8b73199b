// comm/comm: the only way tasks talk to each other.
//
// A Comm is one task's end of a group of `size()` tasks, numbered 0..size()-1. All calls but rank() and
// size() are collective over the group: every task makes the same calls in the same order. A Comm does not
// know what a file is. The group is Sheaf's own: its traffic never meets that of the program.
//
// Errors: arguments that disagree (lengths, roots) are a bug of the caller. A failing transport throws
// sheaf::Error on the task that sees it; groups over MPI follow the error handler of the communicator.
// Memory: a task holds O(1) bytes plus its own contribution; only the root of a gather or scatter holds more.
// Threads: one call at a time on one Comm.
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
class StarHub;     // comm_teams/star_comm.hpp
class ThreadTeam;  // comm_teams/thread_comm.hpp

// One contribution per task of the group, joined in rank order. Filled at the root only.
struct SHEAF_EXPORT Gathered {
  std::vector<std::byte> bytes;  // all contributions, one behind the other
  std::vector<int64_t> sizes;    // bytes of each contribution, size() entries

  // Offset of each contribution in `bytes`: size()+1 entries.
  std::vector<int64_t> offsets() const;
  // Each contribution.
  std::vector<std::span<const std::byte>> pieces() const;
  std::vector<std::span<std::byte>> rooms();  // to be written to
  // Puts one more behind the others.
  void add(std::span<const std::byte> piece);

  // All in one message: the sizes, then the bytes.
  std::vector<std::byte> packed() const;
  // The reverse, of `count` contributions, whose sizes are not looked at. Throws damaged if the message is
  // too short for these.
  static Gathered unpacked(std::span<const std::byte> message, size_t count);
};

// A message to and from another task of the group (or this one). The memory stays the caller's until the
// exchange is finished. `room` may be longer than what comes.
struct Outgoing {
  int peer = 0;
  std::span<const std::byte> bytes;  // at most 2 GiB - 1
};
struct Incoming {
  int peer = 0;
  std::span<std::byte> room;
};

// Messages under way. To be finished before it is destroyed, also after a failure elsewhere.
class SHEAF_EXPORT Exchange {
 public:
  virtual ~Exchange() = default;

  // Collective. Returns the bytes that came for each Incoming, in their order. Throws mismatch if a message
  // is missing or longer than its room.
  virtual std::vector<int64_t> finish() = 0;
};

// How the numbers of the tasks become one: the largest, the sum, or the sum over the tasks of lower rank (0
// at rank 0).
enum class Reduction : uint8_t { max, sum, sum_before };

// Whether all tasks of a group are in one place. untold: this kind of group cannot tell.
enum class Presence : uint8_t { all, missing, untold };

class SHEAF_EXPORT Comm {
 public:
  virtual ~Comm() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Groups of a split can meet alone only if they keep runs of so many ranks together, from multiples of it
  // on; local.
  virtual int grain() const { return 1; }

  virtual void barrier() = 0;

  // data of `root` to all; the length is the same everywhere.
  virtual void broadcast(std::span<std::byte> data, int root) = 0;

  // Element-wise over the tasks, in place; everybody gets a result.
  virtual void reduce(Reduction how, std::span<int64_t> values) = 0;
  void all_max(std::span<int64_t> values) { reduce(Reduction::max, values); }
  void all_sum(std::span<int64_t> values) { reduce(Reduction::sum, values); }
  void prefix_sum(std::span<int64_t> values) { reduce(Reduction::sum_before, values); }

  // prefix_sum(values), and in `totals` (as many as values) the sum over all tasks.
  virtual void prefix_sum_and_total(std::span<int64_t> values, std::span<int64_t> totals);

  // Contributions of any length (0 included) to `root`. Returned empty on all other tasks.
  virtual Gathered gather(std::span<const std::byte> mine, int root) = 0;

  // The reverse: at `root`, piece r goes to task r (pieces are only looked at there). Returns this task's
  // piece.
  virtual std::vector<std::byte> scatter(const Gathered& pieces, int root) = 0;

  // Pieces of equal length: bytes [r*n, (r+1)*n) of `pieces` at `root` (only looked at there) to task r,
  // where n is the length of `mine`, the same everywhere. Here: a scatter.
  virtual void scatter_equal(std::span<const std::byte> pieces, std::span<std::byte> mine, int root);

  // Starts messages between tasks: `incoming` has an entry for every message that a task sends here, those of
  // one sender in the order in which it sends them. Every task of the group starts and finishes the same
  // exchanges in the same order, some with nothing to send or to receive; several may be under way. Nothing
  // need move before finish(): the kinds of group that can (MPI) let messages travel meanwhile. Here:
  // gathered at task 0 and scattered in finish().
  virtual std::unique_ptr<Exchange> exchange(std::vector<Outgoing> outgoing, std::vector<Incoming> incoming);

  // A group per distinct color (>= 0), ordered by (key, rank).
  virtual std::unique_ptr<Comm> split(int color, int key) = 0;

  // An independent group of the same tasks. Here: a split into one part.
  virtual std::unique_ptr<Comm> duplicate() { return split(0, rank()); }

  // The group of the tasks that share memory with this one (a node), in rank order.
  virtual std::unique_ptr<Comm> split_by_node() = 0;

  // Collective. Memory of `bytes` > 0 that all tasks of the group share (comm/shared_memory.hpp); null on all
  // if it cannot be had, as here. What it holds is undefined; asked again, a group may get what an earlier
  // call got and has dropped.
  virtual std::shared_ptr<SharedMemory> share_memory(size_t /*bytes*/) { return nullptr; }

  // Not collective: whether all tasks of the group call this within `patience` of each other, and are
  // `ready`. If one hears `all`, all do, and may use the group. After `missing` nothing may be sent in it any
  // more, since tasks may still come. Takes three times `patience` at most. Here: untold, at once.
  virtual Presence meet_within(bool /*ready*/, std::chrono::milliseconds /*patience*/) {
    return Presence::untold;
  }

  // Number of groups that split_by_node() makes.
  virtual int node_count();

  // The team of threads that carries the group in this process; null for others.
  virtual std::shared_ptr<ThreadTeam> thread_team() const { return nullptr; }
  // What carries the group if that is a star, owned by it; null for others.
  virtual StarHub* hub() const { return nullptr; }
};

// The group of one.
std::unique_ptr<Comm> self_comm();

}  // namespace sheaf
