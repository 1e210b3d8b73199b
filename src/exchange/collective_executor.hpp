// exchange/collective_executor: collective transfers: all tasks of a group transfer together
// (docs/internals-exchange.md, "Collective transfers").
//
// One reduction gives every task a summary of the call. A task transfers independently if its extents are
// large, cover whole units or lie in its exclusive extent. All tasks transfer independently if their ranges
// do not interleave. All other bytes pass through the window pool of the host (exchange/shm_window_pool) and,
// between hosts, from aggregator to aggregator (exchange/host_exchange). This is two-phase I/O (Blue Gene/L
// paper, section 3). exchange/collective_planner makes these decisions. A failure on one task is thrown on
// all tasks; no task waits for a failed one.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "exchange/collective_planner.hpp"
#include "exchange/host_exchange.hpp"
#include "exchange/host_map.hpp"
#include "exchange/shm_window_pool.hpp"
#include "exchange/transfer/io_counters.hpp"
#include "exchange/transfer/non_coherent_file.hpp"
#include "exchange/window_call.hpp"

namespace sheaf::exchange {

class CollectiveExecutor {
 public:
  explicit CollectiveExecutor(Comm& comm) : comm_(comm), planner_(comm.size()) {}

  // Writes the accesses of all tasks. Collective. If this task cannot take part, `problem` is the reason: the
  // task then contributes no bytes, and all tasks throw. Throws on all tasks the error of the lowest failing
  // task (comm/agree.hpp).
  void write(CollectiveFile target, const FileAccess& access, const CollectiveOptions& how,
             std::optional<Error> problem, IoCounters& counters);
  // Reads the accesses of all tasks. Collective; handles `problem` as write() does. Returns the number of
  // bytes that this task has read, counted from the start of its stream.
  int64_t read(CollectiveFile target, const FileAccess& access, const CollectiveOptions& how,
               std::optional<Error> problem, IoCounters& counters);

  // Determines the hosts and aggregators ahead of the first transfer, for a group on several hosts.
  // Collective.
  void find_hosts(const CollectiveOptions& how);

  // Parameters of a transfer of many bytes by all tasks.
  struct Chosen {
    int64_t aggregators = 1;
    int64_t window = 0;  // bytes that an aggregator transfers per request
    // Ranks of the tasks that access the file. On one host: all tasks; at most `aggregators` of these access
    // it at the same time.
    std::vector<int64_t> tasks{};
  };
  // Returns the parameters that transfers with the options `how` would use. Local.
  Chosen chosen(File& file, const CollectiveOptions& how) const;

 private:
  // Arguments of a collective call on this task, and the part of the access that it exchanges.
  struct LocalCall {
    CollectiveFile target;
    const FileAccess& access;
    const CollectiveOptions& how;
    IoCounters& counters;
    const FileAccess rest;               // bytes to exchange: the whole access, or none
    const std::optional<Error> problem;  // error of this task before the reduction, if any
  };

  // Return the summary of the call. Collective. Throw on all tasks if a task has a problem.
  CallSummary summarize(const LocalCall& call, CallFacts facts, uint64_t coverage);
  CallSummary summarize_write(const LocalCall& call);
  CallSummary summarize_read(const LocalCall& call, bool waits);
  void post_contribution(const LocalCall& call, uint64_t coverage);
  // Collective. Allocates window memory in the first call that needs it, so that programs with independent
  // transfers only never allocate it. A new pool does not hold the ranges of the tasks, so they summarize the
  // call again.
  template <class Summarize>
  void find_window_pool(const LocalCall& call, CallSummary& summary, Summarize summarize_again);
  bool replace_window_pool(const LocalCall& call, const CallSummary& summary);
  void drop_window_pool();
  void make_window_pools(const CollectiveOptions& how, int64_t range, bool shared);
  PoolFacts pool_facts(const LocalCall& call, const CallSummary& summary) const;
  bool find_exclusive_extent(const FileAccess& access, int64_t unit);
  void publish(NonCoherentFile& file);
  void count_exchange(const LocalCall& call, const CallSummary& summary) const;

  WindowCall next_windows(const LocalCall& call, const CallSummary& summary, int64_t tokens);
  void write_on_one_host(const LocalCall& call, const CallSummary& summary);
  int64_t read_on_one_host(const LocalCall& call, const CallSummary& summary);
  std::optional<Error> plan_between_hosts(const LocalCall& call, const CallSummary& summary);
  void write_between_hosts(const LocalCall& call, const CallSummary& summary);
  int64_t read_between_hosts(const LocalCall& call, const CallSummary& summary);
  bool leave_gaps(const CollectiveOptions& how);
  std::optional<Sieving> sieving_of_gaps(const CollectiveOptions& how, RangeLock& kept_out);
  void conclude(const std::optional<Error>& problem);

  Comm& comm_;
  CollectivePlanner planner_;
  std::unique_ptr<HostMap> hosts_;         // null on a single host
  std::unique_ptr<ShmWindowPool> pool_;    // window pool of this host; null until first use
  std::unique_ptr<HostExchange> channel_;  // null unless this task is an aggregator of several hosts
  std::optional<bool> gaps_;               // whether the exchange plan leaves gaps in its windows
  Windows written_;                        // windows of the last write between hosts
  int call_ = 0;                           // index of the next call's sums and ranges
  uint64_t next_ = 0;                      // number of the next window
};

}  // namespace sheaf::exchange
