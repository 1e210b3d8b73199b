// exchange/collective_planner: decides how the tasks of a collective transfer proceed
// (docs/internals-exchange.md, "Collective transfers").
//
// Every decision is a function of the call, of its summary, and of what the planner knows from earlier calls.
// The planner moves no bytes and sends no messages: the executor (exchange/collective_executor) does both and
// passes the results. All tasks come to the same decision if they pass the same summary and options.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/extent.hpp"
#include "exchange/collective_options.hpp"
#include "exchange/pieces/access.hpp"
#include "exchange/pieces/windows.hpp"

namespace sheaf::exchange {

// I/O path of a task in a call: together with the other tasks, independently ahead of the reduction, or
// independently once all tasks have published their independent writes.
enum class IoPath : uint8_t { collective, independent, independent_after_publish };

// The state of the bytes that a task reads: visible in the page cache that all tasks share, written by this
// task alone, or possibly unpublished on another host.
enum class ReadSource : uint8_t { shared_cache, own_writes, other_hosts };

// Path of the bytes that were not transferred before the reduction.
enum class Merging : uint8_t {
  none,             // independent
  all,              // window pool
  unless_exclusive  // independent if every task gets an exclusive extent, else window pool
};

inline constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

// Amounts of one task, or of all tasks together.
struct CallTotals {
  int64_t bytes = 0, pieces = 0;
  int64_t lengths = 0;  // bytes of all blocks or units that the range of a task overlaps
};

// Input of one task to the reduction of a call; afterwards, the combined facts of all tasks. Excludes bytes
// that a task transfers before the reduction.
struct CallFacts : CallTotals {
  bool failed = false;
  int64_t low = unlimited;  // range in the file; low > high: none
  int64_t high = -1;
  bool differs = false;      // the access signature differs from that of the last call
  int64_t threads = 1;       // threads that the hardware runs at once
  bool other_hosts = false;  // the rules for aggregators have changed: find the hosts again
  bool changed = false;      // has unpublished independent writes
  bool held = false;         // holds independent writes in memory
  bool waits = false;        // reads independently once all tasks have published
  bool alone = false;        // the tasks of the host share no memory
  bool gaps = false;         // a third or more of the bytes in the range are not its own
  bool outside = false;      // writes outside the exclusive extent

  constexpr void combine(auto& by) {
    by.any(failed).min(low).max(high).any(differs).max(threads).max(bytes).max(pieces).max(lengths);
    by.any(other_hosts).any(changed).any(held).any(waits).any(alone).any(gaps).any(outside);
  }
};

// Summary of a call, the same on all tasks. On several hosts, the totals are upper estimates.
struct CallSummary : CallTotals {
  CallFacts facts;
  bool tiled = false;  // one host: the extents of all tasks fill the range
  int call = 0;        // index of the sums and ranges of this call in the window pool

  CallSummary(const CallFacts& combined, int64_t tasks);
  bool is_empty() const { return facts.low > facts.high; }  // no task has bytes left
  int64_t range() const { return is_empty() ? 0 : facts.high - facts.low; }
};

// The window pool of this host, as far as decisions depend on it.
struct PoolFacts {
  bool several_hosts = false;
  int64_t window = 0;   // bytes of a slot
  int64_t touched = 0;  // one host: bytes of all blocks that the ranges of the tasks overlap
};

class CollectivePlanner {
 public:
  explicit CollectivePlanner(int64_t tasks) : tasks_(tasks) {}

  // Return the path of this task. Require that the bytes of the access are not negative.
  IoPath write_path(const FileAccess& access, const CollectiveOptions& how) const;
  IoPath read_path(const FileAccess& access, const CollectiveOptions& how, ReadSource source) const;

  // Starts a call. Keeps the signature of `access`, the bytes to exchange, and returns the facts of this
  // task.
  CallFacts begin(const FileAccess& access, const CollectiveOptions& how);
  // Returns the contribution of an access to the coverage of the call (exchange/pieces/coverage). Computed
  // once while the signature stays the same.
  uint64_t coverage_of(const FileAccess& access);
  // Completes the call that begin() started and returns its summary. Keeps its signature, or forgets all
  // signatures if the call failed. Ends the exclusive extent if a task has written outside its own.
  CallSummary summarize(const CallFacts& combined);
  // Discards what is known from earlier calls, because a call has failed or the window pool is replaced.
  void forget() { signature_.reset(); }

  // Return how the tasks transfer the bytes that are left.
  static Merging merge_writes(const CallSummary& summary, const CollectiveOptions& how,
                              const PoolFacts& pool);
  static Merging merge_reads(const CallSummary& summary, const CollectiveOptions& how, const PoolFacts& pool);
  // Cuts the range of the call into windows. `size`: bytes of a slot. Several aggregators get contiguous
  // domains if how.switches.aligned is false and no unit needs a single writer.
  static Windows windows(const CallSummary& summary, const CollectiveOptions& how, int64_t size,
                         int64_t aggregators);
  // Returns the number of I/O tokens of a transfer within one host: how.aggregators, or by default the number
  // of hardware threads (`threads`). The number of tasks, how.per_host and max_tokens limit it.
  int64_t tokens(const CollectiveOptions& how, int64_t threads) const;

  // Returns true if the exchange plan of the aggregators applies to this call. note_plan() records a plan; it
  // applies until a task changes its signature.
  bool is_planned() const { return planned_; }
  void note_plan() { planned_ = true; }

  // Exclusive extent of this task: bytes in whole units that no other task writes in collective calls while
  // each task stays inside its own. Empty: not agreed on, or a task has written outside its own.
  bool keeps_exclusive(const FileAccess& access) const;
  // Sets the exclusive extent: from the first unit of this task to the first unit of the following task.
  // Returns true if the access has bytes and lies inside. If it returns false on any task, all tasks must
  // call end_exclusive().
  bool set_exclusive(const FileAccess& access, const Extent& extent);
  void end_exclusive() { exclusive_ = {}; }

 private:
  // Access signature of this task in a call. Reading back the same region yields the same signature.
  struct AccessSignature {
    uint64_t filetype = 0;
    int64_t displacement = 0, from = 0, to = 0;
    int64_t buffer = 0, block = 0, unit = 0;
    TransferSwitches switches;
    ExchangeMethods methods;
    bool operator==(const AccessSignature&) const = default;
  };

  const int64_t tasks_;
  AccessSignature begun_;                     // signature of the call that begin() started
  std::optional<AccessSignature> signature_;  // signature of the last call; empty at first and after forget()
  std::optional<uint64_t> coverage_;          // coverage of the access in `begun_`; computed on demand
  bool planned_ = false;
  Extent exclusive_;
};

// Returns the window size in bytes for a transfer over `range` bytes, at most `size`. Windows of a short
// range are smaller, so that every aggregator gets some. If a unit spans several windows, one aggregator gets
// all windows of the unit.
int64_t window_of_range(const CollectiveOptions& how, int64_t range, int64_t size, int64_t sharers);
// Return the shape of the window pool: on one host, and between hosts for a transfer over `range` bytes.
WindowPoolShape shape_on_one_host(const CollectiveOptions& how, bool dear_requests);
WindowPoolShape shape_between_hosts(const CollectiveOptions& how, int64_t aggregators, int64_t channels,
                                    int64_t range);

// Returns the bytes of all units that the access's range overlaps. Requires access.bytes() > 0.
int64_t length_in_units(const FileAccess& access, int64_t unit);
// Returns the bytes of all blocks that the extents overlap.
int64_t touched_bytes(std::vector<Extent> extents, int64_t block);

}  // namespace sheaf::exchange
