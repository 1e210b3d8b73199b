// comm/shared_meeting: how tasks that share memory tell each other a few bytes without polling.
//
// Every task lays its contribution into memory of its own and sleeps until the last one has come,
// unless that comes while the others still look (comm/glance.hpp); then each reads what it needs of
// them. One wake-up is the whole latency, and a task that waits leaves its core to those that work, where
// messages would have to be polled for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/export.hpp"
#include "comm/constants.hpp"
#include "comm/meeting_steps.hpp"
#include "process/futex.hpp"

namespace sheaf {

class SHEAF_EXPORT SharedMeeting {
 public:
  static constexpr int most_tasks = comm_constants::most_tasks_of_a_meeting;
  static constexpr size_t most_bytes = comm_constants::most_bytes_of_a_contribution;  // of one contribution

  // Bytes of the memory that `tasks` need.
  static size_t memory_size(int tasks);

  // `memory`: shared by the tasks, zeroed before the first of them comes, aligned to a cache line; outlives
  // the object.
  SharedMeeting(void* memory, int rank, int size);

  int rank() const { return rank_; }
  int size() const { return size_; }

  // Collective. Lays `mine` out and returns when all have come; true if every contribution had at most
  // most_bytes, the same on all tasks. `progress` is called now and then while waiting.
  bool meet(std::span<const std::byte> mine, const std::function<void()>& progress) {
    come(mine);
    return wait(progress);
  }
  // The two halves of it, between which a task may do something else. A wait() may be left out where all are
  // known to have come.
  void come(std::span<const std::byte> mine);
  bool wait(const std::function<void()>& progress);

  // Contribution of a task to the last meeting, valid until the next; empty if it was too long.
  std::span<const std::byte> of(int rank) const;

 private:
  struct Head;
  struct Contribution;
  struct Steps;  // words of the head, as comm/meeting_steps asks for them
  Contribution& contribution(uint32_t meeting, int rank) const;

  Head* head_;
  std::byte* contributions_;
  int rank_;
  int size_;
  MeetingSteps<SharedWord> steps_;
};

}  // namespace sheaf
