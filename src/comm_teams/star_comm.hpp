// comm_teams/star_comm: a Comm over anything that can bring bytes to one task and back: a star.
//
// For transports that offer no better: callbacks of the generic interface, and irregular groups of hybrid
// programs. Everything goes through task 0 of the hub, in rounds: each task brings the call it is in, task 0
// completes the calls whose members are all there, the others are told to bring theirs again. So groups of a
// split may make different numbers of calls, although every round needs every task; and tasks that wait for
// each other in a circle are found and get Error mismatch instead of hanging. Calls of one group that do not
// match are a mismatch on its members.
//
// Cost: one or more rounds per collective; task 0 holds what all contribute, O(tasks).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "comm/comm.hpp"

namespace sheaf {

struct LocalGroup;

// One task's end of what carries the rounds. Kept alive by the Comms on it.
class StarHub {
 public:
  using Answer = std::function<Gathered(const Gathered&)>;

  virtual ~StarHub() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Collective: task 0 gets `mine` of all tasks, runs `answer`, and every task gets its piece of the result.
  // Throws on all tasks alike as far as the transport can; what `answer` throws too.
  virtual std::vector<std::byte> round(std::span<const std::byte> mine, const Answer& answer) = 0;

  // A number that the tasks which share memory with this one have in common, and no others.
  virtual int64_t node() = 0;
  // Asked at task 0 only: that many consecutive tasks make a node; 0: node() decides.
  virtual int tasks_per_node() { return 0; }

  int64_t next_group = 1;  // number of the next group of a split; counts at task 0 only

  // The program's own groups (comm_teams/callback_comm.hpp), where it carries the rounds.
  virtual void make_local(const LocalGroup& local);
  virtual void* local() const { return nullptr; }
};

// Local. The group of all tasks of the hub; to be called once per hub on each task.
SHEAF_EXPORT std::unique_ptr<Comm> star_comm(std::shared_ptr<StarHub> hub);

}  // namespace sheaf
