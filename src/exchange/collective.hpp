// exchange/collective: collective transfers: all tasks of a group transfer together
// (docs/internals-exchange.md, "Collective transfers").
//
// One reduction gives every task a summary of the call. A task transfers independently if its extents are
// large, cover whole units or lie in its exclusive extent. All tasks transfer independently if their ranges
// do not interleave. All other bytes pass through the window pool of the host (exchange/shm_window_pool) and,
// between hosts, from aggregator to aggregator (exchange/host_exchange). This is two-phase I/O (Blue Gene/L
// paper, section 3). A failure on one task is thrown on all tasks; no task waits for a failed one.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/extent.hpp"
#include "comm/comm.hpp"
#include "exchange/host_exchange.hpp"
#include "exchange/host_map.hpp"
#include "exchange/pieces/access.hpp"
#include "exchange/pieces/constants.hpp"
#include "exchange/shm_window_pool.hpp"
#include "exchange/transfer/concurrent_openers.hpp"
#include "exchange/transfer/independent.hpp"
#include "exchange/transfer/io_counters.hpp"
#include "exchange/window_call.hpp"
#include "storage/file.hpp"

namespace sheaf::exchange {

// Options of a collective transfer. All tasks pass the same values, except for `per_host`.
struct CollectiveOptions {
  enum class Buffering : uint8_t { automatic, enabled, disabled };
  Buffering exchange = Buffering::automatic;  // whether tasks exchange data
  // Options of independent transfers; `locked` applies to all transfers (atomic mode).
  IndependentOptions independent;
  // For files of hosts without a shared page cache. If true, no other handle writes, and aggregators fill all
  // gaps in windows with the file's contents. If false, they fill short gaps while `others` keeps other
  // handles out, and leave gaps if `others` is null. Filling requires that no other sequence of transfers is
  // in flight.
  bool fills_gaps = false;
  ConcurrentOpeners* others = nullptr;  // null on all tasks or on none
  int64_t aggregators = 0;              // 0: chosen automatically
  int64_t per_host = -1;  // maximum number of aggregators on this task's host; negative: unlimited
  int64_t stripes = 0;    // stripes of the file, 0: unknown; default number of aggregators on several hosts
  int64_t buffer = 0;     // maximum bytes of a window; 0: chosen automatically
  int64_t block = 4096;   // bytes; windows begin and end on multiples of this size
  // Shared granularity in bytes; > 0 if hosts share no page cache. In one call, each unit (extent of this
  // size and alignment) then has a single writer.
  int64_t unit = 0;
  bool others_write = false;  // another sequence of transfers may be in flight on the file
  // Switches for measurements.
  bool shared = true;   // tasks of a host share memory; false: each task counts as a host
  bool overlap = true;  // rounds between hosts and read-ahead overlap with transfers in flight
  bool reuse = true;    // an exchange plan is reused while the access signatures stay the same

  // Returns the window size in bytes for a transfer over `range` bytes, at most `size`. Windows of a short
  // range are smaller, so that every aggregator gets some. If a unit spans several windows, one aggregator
  // gets all windows of the unit.
  int64_t window_of_range(int64_t range, int64_t size, int64_t sharers) const {
    const bool parts = unit > size;
    const int64_t grain = std::max<int64_t>({block, parts ? 0 : unit, 1}),
                  least = std::max(short_window, grain);
    if (parts) sharers = std::clamp<int64_t>(range / unit, 1, sharers);
    while (size / 2 >= least && size / 2 % grain == 0 && range / size < windows_of_an_aggregator * sharers)
      size /= 2;
    return size;
  }
};

class Collective {
 public:
  explicit Collective(Comm& comm) : comm_(comm) {}

  // Writes the accesses of all tasks. Collective. If this task cannot take part, `problem` is the reason: the
  // task then contributes no bytes, and all tasks throw. Throws on all tasks the error of the lowest failing
  // task (comm/agree.hpp).
  void write(File& file, const FileAccess& access, const CollectiveOptions& how, std::optional<Error> problem,
             IoCounters& counters);
  // Reads the accesses of all tasks. Collective; handles `problem` as write() does. Returns the number of
  // bytes that this task has read, counted from the start of its stream.
  int64_t read(File& file, const FileAccess& access, const CollectiveOptions& how,
               std::optional<Error> problem, IoCounters& counters);

  // Determines the hosts and aggregators ahead of the first transfer, for a group on several hosts.
  // Collective.
  void find_hosts(const CollectiveOptions& how);

  // Parameters of a transfer of many bytes by all tasks.
  struct Chosen {
    int64_t aggregators = 1;
    int64_t window = 0;  // bytes that an aggregator transfers per request
    // Ranks of the tasks that access the file. On one host, these are all tasks, `aggregators` of them at a
    // time.
    std::vector<int64_t> tasks{};
  };
  // Returns the parameters that transfers with the options `how` would use. Local.
  Chosen chosen(File& file, const CollectiveOptions& how) const;

 private:
  // Summary of a call, known to all tasks. On several hosts, the byte and extent counts are upper estimates.
  struct CallSummary {
    int64_t low = 0;
    int64_t high = 0;
    bool repeated = false;     // every task repeats its last access signature
    bool changed = false;      // a task has unpublished independent writes
    bool waits = false;        // a task reads independently once all tasks have published
    bool alone = false;        // the tasks of some host share no memory
    bool other_hosts = false;  // the rules for aggregators have changed: find the hosts again
    bool gaps = false;         // in some task's range, a third or more of the bytes are not its own
    int64_t threads = 1;       // threads that the hardware runs at once
    int64_t bytes = 0;         // total of all tasks
    int64_t pieces = 1;
    int64_t lengths = 0;  // total length of the tasks' ranges, in whole blocks
    bool tiled = false;   // one host: the extents of all tasks fill the range
    int call = 0;         // index of the sums and ranges of this call in the window pool
  };
  // Access signature of this task in a call. Reading back the same region yields the same signature.
  struct AccessSignature {
    uint64_t filetype = 0;
    int64_t displacement = 0;
    int64_t from = 0;
    int64_t to = 0;
    int64_t buffer = 0;
    int64_t block = 0;
    int64_t unit = 0;
    bool operator==(const AccessSignature&) const = default;
  };

  int64_t transfer(File& file, const FileAccess& access, const CollectiveOptions& how, bool writes,
                   std::optional<Error> problem, IoCounters& counters);
  void publish(File& file);
  // I/O path of a task in a call: together with the other tasks, independently ahead of the reduction, or
  // independently once all tasks have published their independent writes.
  enum class IoPath : uint8_t { collective, independent, independent_after_publish };
  int64_t tokens_on_one_host(const CollectiveOptions& how, int64_t threads) const;
  IoPath way_of(File& file, const FileAccess& access, const CollectiveOptions& how, bool writes) const;
  int64_t touched(const CallSummary& summary, int64_t block) const;
  bool find_exclusive_extent(const FileAccess& access, int64_t unit);  // collective
  bool is_within_exclusive_extent(const FileAccess& access) const;
  bool shares_requests(const FileAccess& access, const CallSummary& summary, const CollectiveOptions& how,
                       bool writes);
  // `all` is the whole access of this task, `access` the rest that needs the other tasks.
  CallSummary allreduce_summary(File& file, const FileAccess& all, const FileAccess& access,
                                const CollectiveOptions& how, bool writes,
                                const std::optional<Error>& problem, bool waits);
  void post_contribution(const FileAccess& access, const CollectiveOptions& how);
  // Collective. Returns true if the window pool has been replaced.
  bool find_window_pool(File& file, const CollectiveOptions& how, const CallSummary& summary);
  void drop_window_pool();
  void make_window_pools(const CollectiveOptions& how, int64_t range, bool shared);
  WindowCall call_for(const CallSummary& summary, const CollectiveOptions& how, int tokens);
  int64_t on_one_host(File& file, const FileAccess& access, const CollectiveOptions& how, bool writes,
                      const CallSummary& summary, IoCounters& counters);
  bool leave_gaps(const CollectiveOptions& how);  // collective
  std::optional<Sieving> sieving_of_gaps(const CollectiveOptions& how, RangeLock& kept_out);
  int64_t between_hosts(File& file, const FileAccess& access, const CollectiveOptions& how, bool writes,
                        const CallSummary& summary, IoCounters& counters);

  Comm& comm_;
  std::unique_ptr<HostMap> hosts_;            // null on a single host
  std::unique_ptr<ShmWindowPool> pool_;       // window pool of this host; null until first use
  std::unique_ptr<HostExchange> channel_;     // null unless this task is an aggregator of several hosts
  std::optional<AccessSignature> signature_;  // signature of the last call; empty: unknown, or failed
  std::optional<uint64_t> coverage_;          // coverage of that access; writes on one host only
  bool planned_ = false;                      // the aggregators' exchange plan matches the last call
  std::optional<bool> gaps_;                  // whether the plan leaves gaps in its windows
  Windows written_;                           // windows of the last write between hosts
  // Exclusive extent: bytes in whole units that no other task writes in collective calls while each task
  // stays inside its own exclusive extent. Empty: not agreed on, or a task has written outside its exclusive
  // extent.
  Extent exclusive_;
  int call_ = 0;       // index of the next call's sums and ranges
  uint64_t next_ = 0;  // number of the next window
};

}  // namespace sheaf::exchange
