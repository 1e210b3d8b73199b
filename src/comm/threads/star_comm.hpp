// comm/threads/star_comm: a Comm over any transport between one task and all other tasks: a star.
//
// It serves transports that have no better way: callbacks of the generic interface, and irregular groups of
// hybrid programs. All communication goes through task 0 of the hub, in rounds. Each task sends its current
// call; task 0 completes the calls for which all members have arrived, and asks the other tasks to send
// theirs again. Every round needs all tasks of the hub, yet groups of a split may make different numbers of
// calls. Tasks that wait for each other in a cycle get Error mismatch instead of a deadlock. If members of a
// group make calls that do not match, all its members get Error mismatch.
//
// Cost: one or more rounds per collective call; task 0 holds all contributions, O(tasks).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "comm/comm.hpp"

namespace sheaf {

struct LocalGroup;

// One task's handle of the transport that performs the rounds. The Comms that use it own it jointly.
class RootRelay {
 public:
  using AnswerFunction = std::function<Gathered(const Gathered&)>;

  virtual ~RootRelay() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Collective. Task 0 gets `mine` of all tasks and runs `answer`; every task gets its piece of the result.
  // Errors of the transport and of `answer` are thrown on all tasks, as far as the transport can report them.
  virtual std::vector<std::byte> round(std::span<const std::byte> mine, const AnswerFunction& answer) = 0;

  // Returns a number for the host of this task: equal on tasks that share memory, different on all other
  // tasks.
  virtual int64_t node() = 0;
  // Returns K if every K consecutive tasks form a host; 0 if node() decides. Called at task 0 only.
  virtual int tasks_per_node() { return 0; }

  int64_t next_group = 1;  // number of the next group of a split; maintained at task 0 only

  // Access the program's own groups (comm/threads/callback_comm.hpp), if its callbacks perform the rounds.
  virtual void make_local(const LocalGroup& local);
  virtual void* local() const { return nullptr; }
};

// Local. Creates the group of all tasks of the hub. Must be called once per hub on each task.
SHEAF_EXPORT std::unique_ptr<Comm> star_comm(std::shared_ptr<RootRelay> relay);

}  // namespace sheaf
