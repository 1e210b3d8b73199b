// exchange/collective_options: options of a collective transfer.
#pragma once

#include <cstdint>
#include <optional>

#include "comm/comm.hpp"
#include "exchange/transfer/concurrent_openers.hpp"
#include "exchange/transfer/independent.hpp"

namespace sheaf::exchange {

// Optimisations; false switches one off for measurements.
struct TransferSwitches {
  bool shared = true;   // tasks of a host share memory; false: each task counts as a host
  bool overlap = true;  // rounds between hosts and read-ahead overlap with transfers in flight
  bool reuse = true;    // an exchange plan is reused while the access signatures stay the same
  // The optimisations of the Blue Gene/L paper, between hosts (figure 4).
  bool psets = true;      // 3.3: aggregators are spread over I/O nodes and hosts; false: on the first hosts
  bool aligned = true;    // 3.4: windows are aligned; false: equal contiguous domains, unless units forbid it
  bool alltoall = true;   // 3.5.1: data travel as ExchangeMethods select; false: one by one
  bool allreduce = true;  // 3.5.2: ranges are reduced; false: gathered on each task, begins and ends in turn
  bool operator==(const TransferSwitches&) const = default;
};

// How tasks exchange data and ranges.
struct ExchangeMethods {
  std::optional<ExchangeMethod> data;               // between hosts; nullopt: chosen for each exchange plan
  ReductionMethod ranges = ReductionMethod::hosts;  // allgather only through TransferSwitches
  bool operator==(const ExchangeMethods&) const = default;
};

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
  TransferSwitches switches;
  ExchangeMethods methods;

  // Return the methods in use.
  std::optional<ExchangeMethod> data_method() const {
    return switches.alltoall ? methods.data : ExchangeMethod::messages;
  }
  ReductionMethod ranges_method() const {
    return switches.allreduce ? methods.ranges : ReductionMethod::allgather;
  }
};

}  // namespace sheaf::exchange
