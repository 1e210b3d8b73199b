// multifile/collective_group: the tasks of a physical file in groups of consecutive ones, each with a collector, its
// first task (docs/format.md, section "Collective layouts").
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "comm/comm.hpp"
#include "multifile/collective_mode.hpp"
#include "multifile/parallel_open.hpp"

namespace sheaf {

struct CollectiveGroup {
  std::unique_ptr<Comm> members;     // null: all tasks of the file are one group
  std::unique_ptr<Comm> collectors;  // of all groups of the file, on each of them; null elsewhere, and if there is one group
  int64_t chunk_size = 0;            // of this task, final; so large that no layout takes it if it would not fit 63 bits
  std::optional<PrefixedSum> placed;  // of the chunk sizes, where they follow from the requests
  int64_t average_request = 0;       // bytes per task, over the file; rounded up

  Comm& group(Comm& file) const { return members ? *members : file; }
};

// Collective over `file`, the tasks of a physical file; O(log tasks) steps, and one per leader. Leaders do the pass over
// the tasks in order; no other task holds more than its own numbers. `request`: bytes this task asks for, >= 0.
// Throws invalid_argument on all tasks if the sum of the requests exceeds 2^63 bytes.
CollectiveGroup make_groups(Comm& file, int64_t request, int64_t fsblksize, const CollectivePlan& plan,
                            bool may_collect = true);

// For reading: groups of so many consecutive tasks, or of a number of the library's choice. Collective.
CollectiveGroup make_reading_groups(Comm& file, const CollectivePlan& plan);

// Groups of `tasks` consecutive tasks each. Collective.
CollectiveGroup make_equal_groups(Comm& file, int64_t tasks);

}  // namespace sheaf
