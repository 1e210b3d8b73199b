// support/fibers/fiber_group: the state that the fibers of a group share. Private to fiber_comm.cpp.
//
// A collective is a rendezvous, called barrier in the code. Every member records its contribution in the
// group's slot. The last member to arrive computes the result in the slot; then all members resume and read
// it. Two alternating slots suffice, because no member can arrive at the barrier after next before all
// members have left the current one.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "comm/helpers.hpp"
#include "support/fibers/fiber_scheduler.hpp"

namespace sheaf::fibers {

struct FiberWorld;
struct GroupFamily;

// Rank to which allocations are attributed (memory_owner() in fiber_comm.hpp). If null, they are attributed
// to the running task.
inline thread_local const int* billed = nullptr;

// Sets `billed` for a scope in which no other task runs.
class Billing {
 public:
  explicit Billing(int task) : task_(task), outer_(std::exchange(billed, &task_)) {}
  Billing(const Billing&) = delete;
  Billing& operator=(const Billing&) = delete;
  ~Billing() { billed = outer_; }

 private:
  int task_;
  const int* outer_;
};

// Properties of a call that must be the same on all members. `operation` is a string literal, so equal
// operations have equal pointers.
struct FiberCall {
  const char* operation = nullptr;
  int root = 0;
  int64_t length = 0;  // bytes; 0 if lengths may differ

  bool operator==(const FiberCall&) const = default;

  std::string text() const {
    return std::string(operation) + "(root " + std::to_string(root) + ", " + std::to_string(length) +
           " bytes)";
  }
};

// The result of one barrier under construction. Each operation uses a subset of the members.
struct FiberSlot {
  std::vector<int64_t> values;        // sums, maxima or offsets; or one or more entries per member
  std::vector<std::byte> bytes;       // data that the root broadcasts
  Gathered gathered;                  // result for the root, which moves it out
  const Gathered* pieces = nullptr;   // pieces of the root; null if they do not match their sizes
  GroupFamily* family = nullptr;      // groups created by a split
  int readers = 0;                    // members that have yet to copy their piece
  std::vector<ExchangeLists*> lists;  // lists of an exchange, one per member
  std::optional<Error> outcome;       // result of an exchange
};

struct FiberBarrierGroup {
  FiberWorld* world = nullptr;
  GroupFamily* family = nullptr;
  int first = 0;  // index of the first member in the family's list
  int size = 0;
  int arrived = 0;          // members that have reached the current barrier
  int first_task = nobody;  // task that arrived first
  uint32_t barriers = 0;    // number of completed barriers
  FiberCall call;           // call of the current barrier
  std::unique_ptr<FiberSlot[]> slots;
  std::exception_ptr broken;  // reason why this group can complete no more barriers

  int task_of(int rank) const;
  FiberSlot& slot() { return slot(barriers); }
  FiberSlot& slot(uint32_t barrier);

  // Enters the running member, `task`, into the barrier that `now` describes. Returns the barrier's slot.
  FiberSlot& come(int task, const FiberCall& now);

  // Ends the barrier if all members have arrived, otherwise waits for its end. The last member to arrive
  // calls complete(), once.
  template <typename Complete>
  void complete_barrier(Complete complete);

  // Performs the first of two steps: ends the barrier if all members have arrived. Then the waiting members
  // become ready, as does the running member if it enqueues with them.
  template <typename Complete>
  bool end(Complete complete, bool queues_up = false);
  void wait(uint32_t barrier);  // second step: until the barrier ends

 private:
  void refuse(int task, const FiberCall& now);
};

// Groups created by one split. A family lives as long as any Comm of its groups.
struct GroupFamily {
  std::vector<FiberBarrierGroup> groups;
  std::shared_ptr<const std::vector<int>> members;  // task numbers, group by group; null: all tasks in order
  int64_t comms = 0;

  void release() {
    if (--comms == 0) delete this;
  }
};

// State shared by all tasks of a run.
struct FiberWorld {
  Scheduler* scheduler = nullptr;
  int ranks_per_node = 1;
  FiberSlot alone;  // for groups of one task: their barriers begin and end within a call
};

inline int FiberBarrierGroup::task_of(int rank) const {
  return family->members ? (*family->members)[static_cast<size_t>(first + rank)] : rank;
}

inline FiberSlot& FiberBarrierGroup::slot(uint32_t barrier) {
  if (size == 1) return world->alone;
  if (!slots) slots = std::make_unique<FiberSlot[]>(2);
  return slots[barrier % 2];
}

inline FiberSlot& FiberBarrierGroup::come(int task, const FiberCall& now) {
  world->scheduler->throw_failure();
  if (broken) std::rethrow_exception(broken);
  if (arrived == 0) {
    call = now;
    first_task = task;
  } else if (call != now) {
    refuse(task, now);
  }
  ++arrived;
  return slot();
}

template <typename Complete>
bool FiberBarrierGroup::end(Complete complete, bool queues_up) {
  if (arrived < size) return false;
  complete();
  arrived = 0;
  ++barriers;
  if (size == 1) return true;
  Scheduler& scheduler = *world->scheduler;
  for (int rank = 0; rank < size; ++rank) {
    const int task = task_of(rank);
    if (scheduler.task(task).waits_for == this || (queues_up && task == scheduler.running()))
      scheduler.wake(task);
  }
  return true;
}

inline void FiberBarrierGroup::wait(uint32_t barrier) {
  if (barrier != barriers) return;
  if (broken) std::rethrow_exception(broken);  // the group broke after the running member arrived
  world->scheduler->wait(this, call.operation);
  if (broken && barrier == barriers) std::rethrow_exception(broken);
}

template <typename Complete>
void FiberBarrierGroup::complete_barrier(Complete complete) {
  const uint32_t barrier = barriers;
  // The last member to arrive enqueues as well: round robin keeps rank order, and a seed may select any
  // member.
  if (!end(complete, true)) return wait(barrier);
  if (size > 1) world->scheduler->pause();
}

inline void FiberBarrierGroup::refuse(int task, const FiberCall& now) {
  const std::string what = "task " + std::to_string(task) + " called " + now.text() + " where task " +
                           std::to_string(first_task) + " had called " + call.text();
  broken = std::make_exception_ptr(Error(Code::mismatch, what, 0, task));
  for (int rank = 0; rank < size; ++rank)
    if (world->scheduler->task(task_of(rank)).waits_for == this) world->scheduler->wake(task_of(rank));
  std::rethrow_exception(broken);
}

inline int64_t pack(int high, int low) {
  return static_cast<int64_t>(static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 |
                              static_cast<uint32_t>(low));
}
inline int high(int64_t entry) { return static_cast<int>(entry >> 32); }
inline int low(int64_t entry) { return static_cast<int>(entry & 0xffffffff); }

// Creates one group per color, ordered by (key, rank). `entries` holds pack(color, key) by rank on input. On
// output it holds pack(index of the group in the family, rank in the group), negative for tasks without a
// group. Returns null if no task is in a group. O(P log P).
inline GroupFamily* make_family(const FiberBarrierGroup& parent, std::vector<int64_t>& entries) {
  struct SplitMember {
    int color, key, rank;
    auto operator<=>(const SplitMember&) const = default;
  };
  std::vector<SplitMember> sorted;
  sorted.reserve(entries.size());
  for (int rank = 0; rank < parent.size; ++rank) {
    int64_t& entry = entries[static_cast<size_t>(rank)];
    if (high(entry) >= 0) sorted.push_back({high(entry), low(entry), rank});
    entry = -1;
  }
  if (sorted.empty()) return nullptr;
  if (!std::ranges::is_sorted(sorted)) std::ranges::sort(sorted);

  auto family = std::make_unique<GroupFamily>();
  auto members = std::make_shared<std::vector<int>>();
  members->reserve(sorted.size());
  size_t colors = 1;
  for (size_t i = 1; i < sorted.size(); ++i) colors += sorted[i].color != sorted[i - 1].color;
  family->groups.resize(colors);
  int index = -1, last_color = -1;
  for (const SplitMember& member : sorted) {
    if (member.color != last_color) {
      last_color = member.color;
      FiberBarrierGroup& opened = family->groups[static_cast<size_t>(++index)];
      opened.world = parent.world;
      opened.family = family.get();
      opened.first = static_cast<int>(members->size());
    }
    FiberBarrierGroup& group = family->groups[static_cast<size_t>(index)];
    entries[static_cast<size_t>(member.rank)] = pack(index, group.size++);
    members->push_back(parent.task_of(member.rank));
  }
  family->members = std::move(members);
  family->comms = std::ssize(sorted);
  return family.release();
}

// Creates a single group of the same tasks.
inline GroupFamily* make_copy(const FiberBarrierGroup& parent) {
  auto family = std::make_unique<GroupFamily>();
  family->members = parent.family->members;
  family->comms = parent.size;
  FiberBarrierGroup& group = family->groups.emplace_back();
  group.world = parent.world;
  group.family = family.get();
  group.first = parent.first;
  group.size = parent.size;
  return family.release();
}

}  // namespace sheaf::fibers
