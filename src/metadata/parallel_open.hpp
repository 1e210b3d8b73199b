// metadata/parallel_open: what parallel writing and reading share. No task ever holds what all tasks know:
// numbers travel by reductions and prefix sums, arrays in slices through a few leaders per physical file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "comm/agree.hpp"
#include "comm/comm.hpp"
#include "comm/topology.hpp"
#include "journal/journal_file.hpp"
#include "metadata/metadata_io.hpp"
#include "mode/open_mode.hpp"

namespace sheaf {

// Collective. Parses the mode with the additions of the environment (read on rank 0 only) and checks that
// every task called with the same path and mode, and the same `same_everywhere` numbers (at most 3). `mine`:
// what this task has found wrong so far. `any` (may be null): in: what is
// so at this task, out: at any task. One reduction,
// and a broadcast if there are additions. Throws on every task alike.
struct AnyTask {
  bool has_extras = false;  // local steps are left that can fail
  // At the first task, of its Ownership.
  bool took_over = false;
  bool is_local = false;
  uint64_t lease = 0;  // id(); 0: it has none
};
OpenMode agree_on_call(Comm& comm, const std::string& path, const std::string& mode,
                       std::span<const int64_t> same_everywhere, const std::optional<Error>& mine,
                       AnyTask* any = nullptr);

// Tasks per leader in a physical file of `ntasks` tasks: every task whose local rank is a multiple is a
// leader. At most 64 leaders, each but the last with a multiple of 1024 tasks, so that whole groups with
// checksums are in one hand.
int leader_group(int ntasks);

// Collective over `all`, and over `local`, the tasks of them that write one physical file: their hosts,
// numbered as exchange::find_nodes(all) does it. `known`: what that has said already. One host if all tasks
// of `local` are on one.
Hosts find_hosts(Comm& all, Comm& local, const exchange::Nodes* known = nullptr);

// Sum of 63-bit numbers over the tasks of lower rank, and over all tasks, checked for overflow.
struct PrefixedSum {
  int64_t before = 0;
  int64_t total = 0;
};
PrefixedSum prefixed_sum(Comm& comm, int64_t mine);

}  // namespace sheaf
