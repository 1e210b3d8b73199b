// multifile/collective/collective_group: divides the tasks of a physical file into groups of consecutive
// tasks, each with a collector (docs/format.md, section "Collective layouts"), and lets the members of a
// group communicate.
//
// Every step is collective over all tasks of the file, although messages stay inside the groups. So all
// groups make the same steps, and none waits for a step that another group has not reached. This matters if
// one thread communicates for all tasks of a process.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/comm.hpp"
#include "comm/topology.hpp"
#include "layout/collective.hpp"
#include "multifile/collective/constants.hpp"
#include "multifile/collective/mover.hpp"
#include "multifile/metadata/parallel_open.hpp"
#include "multifile/options/collective_mode.hpp"

namespace sheaf::multifile {

// Input for the choice of collectors: the host of this task, and the number of its physical file.
struct Spread {
  Nodes nodes;
  int64_t file = 0;
  int64_t nfiles = 1;
};

class CollectiveGroup {
 public:
  CollectiveGroup() = default;
  // Puts all tasks of `file` into one group; `collector` is the number of the member that collects. `file`
  // must outlive the object. Local.
  explicit CollectiveGroup(Comm& file, int collector = 0) : file_(&file), collector_(collector) {
    place_.size = file.size();
  }
  // Builds the group at `place` and chooses its collector by layout::choose_collector. Collective over the
  // file.
  CollectiveGroup(Comm& file, const layout::GroupPlace& place, const Spread& spread);

  // Returns the number of this task within the group.
  int rank() const { return file_->rank() - static_cast<int>(place_.first); }
  int size() const { return static_cast<int>(place_.size); }
  int collector() const { return collector_; }  // member number of the collector
  bool is_collector() const { return rank() == collector_; }
  const layout::GroupPlace& place() const { return place_; }

  // Returns the first and the last member as ranks within the file.
  Mover::Members tasks() const {
    return {static_cast<int>(place_.first), static_cast<int>(place_.first + place_.size) - 1};
  }
  int task(int member) const { return tasks().first + member; }
  Comm& file() const { return *file_; }

  // Gathers at most `most` bytes of every member. Collective over the file. Returns the bytes of all members
  // in member order at the collector, and nothing on other members.
  Gathered gather(std::span<const std::byte> mine, size_t most) const;
  // Gathers one number of every member in the same way.
  std::vector<int64_t> gather(int64_t mine) const;
  // Scatters `numbers`, in which the collector passes one number for each member. Returns the number for this
  // task. Collective over the file.
  int64_t deal(std::span<const int64_t> numbers) const;

 private:
  Comm* file_ = nullptr;
  layout::GroupPlace place_;
  int collector_ = 0;
};

// Returns how many bytes, at least 1, each member of a group of `group_size` tasks may send or receive per
// round. This limits the memory of the collector, which holds the bytes of all members.
inline int64_t step_bytes(int group_size) {
  return std::clamp<int64_t>(collective_constants::max_per_collector / group_size, 1,
                             collective_constants::max_per_task);
}

// Optional facilities of the program for collective calls.
struct CollectiveMeans {
  // Communicator of the tasks of this physical file alone. If it is null, collective calls use the
  // communicator of the open.
  std::unique_ptr<Comm> meeting;
  bool may_collect = true;                 // this task may begin a group
  bool takes_part = true;                  // false: this task reads and writes the file itself
  std::shared_ptr<Mover> mover = nullptr;  // transfers all bytes except merged ones; null: messages do
};

// Input for forming the groups of a new file.
struct GroupRequest {
  int64_t bytes = 0;      // requested by this task, >= 0
  int64_t fsblksize = 0;  // bytes; block size for which groups are formed
  bool unshared = false;  // a file with one group may get a smaller block size
  int64_t host = -1;      // number of this task's host if two hosts must not write within one shared
                          // granularity; else -1
};

struct NewGroups {
  CollectiveGroup group;
  // Final chunk size of this task, in bytes. INT64_MAX if the size does not fit into 63 bits; no layout
  // accepts that.
  int64_t chunk_size = 0;
  std::optional<PrefixedSum> placed;  // prefix sum of the chunk sizes, if the requests determine it
  int64_t fsblksize = 0;              // block size of the layout, in bytes
  int64_t average_request = 0;        // bytes per task, averaged over the file and rounded up
  // True if a group may contain tasks of several hosts, which must not write within one shared granularity.
  // Then only the collector writes the chunks of the group.
  bool spans_hosts = false;
};

// Returns the place of the group that contains this task. Collective over `file`. `bytes` is the request of
// this task. `begins` states when this task begins a group; with `where_full`, a group is full if the
// requests would exceed `average` bytes (layout::GroupPass).
layout::GroupPlace place_in_groups(Comm& file, int64_t bytes, int64_t average,
                                   layout::GroupPass::Begins begins);

// Returns true if this task is the first of the file, or if the preceding task is on a different host.
// Collective over `file`.
bool is_first_of_host(Comm& file, int64_t host);

// Forms the groups of a new file. Collective over `file`, the tasks of the physical file. Takes O(log tasks)
// steps, plus two per metadata writer. The metadata writers process the requests of all tasks in task order;
// other tasks hold only their own numbers. Throws `invalid_argument` on all tasks if the sum of the requests
// exceeds 2^63 bytes.
NewGroups make_groups(Comm& file, const GroupRequest& request, const CollectivePlan& plan,
                      const Spread& spread);

// Forms groups of consecutive tasks for reading. `plan` specifies the size of a group; if it is automatic,
// the library chooses the size. Collective over `file`.
CollectiveGroup make_reading_groups(Comm& file, const CollectivePlan& plan, const Spread& spread);

// Returns how the tasks of a physical file, `local`, cooperate in collective calls. Returns nothing if `mode`
// requests no collective I/O, or if these tasks cannot communicate without the tasks of other files. Local.
// The result is the same on all tasks of the multifile.
std::optional<CollectivePlan> plan_of(const CollectiveMode& mode, bool writes, const Comm& local,
                                      const CollectiveMeans& means = {});

}  // namespace sheaf::multifile
