// collective/collective_group: the tasks of a physical file in groups of consecutive ones, each with a
// collector (docs/format.md, section "Collective layouts"), and how they talk.
//
// They talk as tasks of the file: every step is one of all of them, in which messages stay inside the groups.
// So nobody waits for a task that is in another group's call, also where one thread of a process talks for
// all.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collective/constants.hpp"
#include "collective/mover.hpp"
#include "comm/comm.hpp"
#include "comm/topology.hpp"
#include "layout/collective.hpp"
#include "metadata/parallel_open.hpp"
#include "mode/collective_mode.hpp"

namespace sheaf {

// What the choice of collectors takes into account: where this task is, and which of the physical files this
// one is.
struct Spread {
  exchange::Nodes nodes;
  int64_t file = 0;
  int64_t nfiles = 1;
};

class CollectiveGroup {
 public:
  CollectiveGroup() = default;
  // All tasks of `file`, which outlives the object, as one group. Local.
  explicit CollectiveGroup(Comm& file, int collector = 0);
  // The group at `place`, its collector chosen as layout::choose_collector says. Collective over the file.
  CollectiveGroup(Comm& file, const layout::GroupPlace& place, const Spread& spread);

  int rank() const { return file_->rank() - static_cast<int>(place_.first); }  // number of this member
  int size() const { return static_cast<int>(place_.size); }
  int collector() const { return collector_; }  // a member
  bool is_collector() const { return rank() == collector_; }
  const layout::GroupPlace& place() const { return place_; }

  // The members as tasks of the file.
  Mover::Members tasks() const {
    return {static_cast<int>(place_.first), static_cast<int>(place_.first + place_.size) - 1};
  }
  int task(int member) const { return tasks().first + member; }
  Comm& file() const { return *file_; }

  // Collective over the file: bytes of every member, at most `most` each, at the collector; one behind the
  // other.
  std::vector<std::byte> gather(std::span<const std::byte> mine, size_t most) const;
  // The same, of a number of every member.
  std::vector<int64_t> gather(int64_t mine) const;
  // Collective over the file: of numbers at the collector, one for each member, that of this one.
  int64_t deal(std::span<const int64_t> numbers) const;

 private:
  Comm* file_ = nullptr;
  layout::GroupPlace place_;
  int collector_ = 0;
};

// What a task of a group of so many brings to a round, or wants of it, at most: bytes, >= 1. A collector has
// memory for all.
inline int64_t step_bytes(int group_size) {
  return std::clamp<int64_t>(collective_constants::most_per_collector / group_size, 1,
                             collective_constants::most_per_task);
}

// What the program brings for collective calls.
struct CollectiveMeans {
  // The tasks of this physical file, who can meet there without others; null: they talk as they do in the
  // open.
  std::unique_ptr<Comm> meeting;
  bool may_collect = true;                 // this task may be the first of a group
  bool takes_part = true;                  // else it moves its bytes itself
  std::shared_ptr<Mover> mover = nullptr;  // moves the bytes, but not those to be merged; null: messages do
};

// What a new file needs to know to form its groups.
struct GroupRequest {
  int64_t bytes = 0;      // that this task asks for, >= 0
  int64_t fsblksize = 0;  // bytes; what groups are formed for
  bool unshared = false;  // a file with one group may be laid out for less
  int64_t host = -1;      // of this task, where hosts may not write one unit; -1: they may
};

struct NewGroups {
  CollectiveGroup group;
  // Of this task, final; so large that no layout takes it if it would not fit 63 bits
  int64_t chunk_size = 0;
  std::optional<PrefixedSum> placed;  // of the chunk sizes, where they follow from the requests
  int64_t fsblksize = 0;              // that the file is laid out for
  int64_t average_request = 0;        // bytes per task, over the file; rounded up
  // Tasks of a group may be on several hosts that may not write one unit: only its collector writes its
  // chunks.
  bool spans_hosts = false;
};

// Collective over `file`: where this task's group is, for what layout::GroupPass says of `begins`.
layout::GroupPlace place_in_groups(Comm& file, int64_t bytes, int64_t average,
                                   layout::GroupPass::Begins begins);

// Collective: whether the task of the rank before is on another host, or there is none.
bool is_first_of_host(Comm& file, int64_t host);

// Collective over `file`, the tasks of a physical file; O(log tasks) steps, and two per leader. Leaders do
// the passes over the tasks in order; no other task holds more than its own numbers. Throws invalid_argument
// on all tasks if the sum of the requests exceeds 2^63 bytes.
NewGroups make_groups(Comm& file, const GroupRequest& request, const CollectivePlan& plan,
                      const Spread& spread);

// For reading: groups of so many consecutive tasks, or of a number of the library's choice. Collective.
CollectiveGroup make_reading_groups(Comm& file, const CollectivePlan& plan, const Spread& spread);

// How the tasks of a physical file, `local`, work together; nothing if they do not: the mode does not want
// it, or they cannot meet without those of other files. Local, the same on all tasks of the multifile.
std::optional<CollectivePlan> plan_of(const CollectiveMode& mode, bool writes, const Comm& local,
                                      const CollectiveMeans& means = {});

}  // namespace sheaf
