// multifile/metadata/parallel_open: functions shared by parallel writing and reading. No task ever holds the
// data of all tasks. Numbers are combined by reductions and prefix sums; arrays pass in slices through a few
// metadata writers per physical file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "comm/agree.hpp"
#include "comm/comm.hpp"
#include "comm/topology.hpp"
#include "multifile/journal/journal_file.hpp"
#include "multifile/metadata/metadata_io.hpp"
#include "multifile/options/open_mode.hpp"

namespace sheaf::multifile {

// Values that agree_on_call() exchanges.
struct AnyTask {
  bool has_extras = false;  // a task has pending local steps that can fail
  // At the first task, from its Ownership.
  bool took_over = false;
  bool is_local = false;
  uint64_t lease = 0;  // id(); 0: no lease
};
// Parses the mode with the additions of the environment (read on rank 0 only). Checks that every task passed
// the same path, mode and `same_everywhere` numbers (at most 3). Collective; takes one reduction, and a
// broadcast if there are additions. Throws on every task alike.
//   mine: earlier error of this task.
//   any: null, or the values of this task on input and the combined values of all tasks on output.
OpenMode agree_on_call(Comm& comm, const std::string& path, const std::string& mode,
                       std::span<const int64_t> same_everywhere, const std::optional<Error>& mine,
                       AnyTask* any = nullptr);

// Returns the number of tasks per metadata writer in a physical file of `ntasks` tasks. The metadata writers
// are the tasks with local rank 0, g, 2g, ... for this number g, at most 64. All except the last have a
// multiple of 1024 tasks, so that whole groups with checksums belong to one metadata writer.
int metadata_writer_group(int ntasks);

// Returns the hosts of the tasks in `local`, which write one physical file, numbered as in
// exchange::find_nodes(all). Collective over `all` and over its part `local`. `known` is null or the result
// of an earlier find_nodes(). Returns a single host if all tasks of `local` are on one host.
JournalHosts find_hosts(Comm& all, Comm& local, const Nodes* known = nullptr);

struct PrefixedSum {
  int64_t before = 0;  // over the tasks of lower rank
  int64_t total = 0;   // over all tasks
};
// Returns sums of `mine` >= 0 over tasks. Collective. Throws invalid_argument on overflow.
PrefixedSum prefixed_sum(Comm& comm, int64_t mine);

}  // namespace sheaf::multifile
