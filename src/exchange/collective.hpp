// exchange/collective: transfers that all tasks of a group carry out together (docs/architecture.md,
// "Exchange").
//
// One reduction tells every task what all want to do. A task transfers alone what covers whole units or lies
// in its claim, or everything if the tasks' ranges do not interleave; all else passes through the stage of
// its host (exchange/stage) and, between several hosts, from aggregator to aggregator
// (exchange/host_exchange): two-phase I/O (Blue Gene/L paper, section 3). A failure on one task is thrown on
// all; no task waits for one that has failed.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "exchange/host_exchange.hpp"
#include "exchange/hosts.hpp"
#include "exchange/pieces/access.hpp"
#include "exchange/pieces/constants.hpp"
#include "exchange/stage.hpp"
#include "exchange/stage_call.hpp"
#include "exchange/transfer/independent.hpp"
#include "exchange/transfer/other_handles.hpp"
#include "exchange/transfer/tally.hpp"
#include "storage/file.hpp"

namespace sheaf::exchange {

// How a collective transfer is to be carried out; the same on all tasks but for `per_host`.
struct CollectiveOptions {
  enum class Way : uint8_t { automatic, always, never };
  Way exchange = Way::automatic;   // whether tasks exchange bytes
  IndependentOptions independent;  // for those transfers that do not; `locked`: for all (atomic mode)
  // Where hosts share no page cache, gaps in windows are filled with what the file holds there: always, since
  // nobody else writes; or, if they are short, where `others` (null: nobody can) are kept out. One lane only.
  bool fills_gaps = false;
  OtherHandles* others = nullptr;  // null on all tasks or on none
  int64_t aggregators = 0;         // 0: automatic
  int64_t per_host = -1;           // most aggregators on the host of this task; negative: any number
  int64_t stripes = 0;             // that the file has, 0: not known; as many aggregators on several hosts
  int64_t buffer = 0;              // bytes of a window at most; 0: automatic
  int64_t block = 4096;            // windows begin and end on multiples of it
  // Above 0: hosts share no page cache; in a call a part of the file from a multiple on has one writer
  int64_t unit = 0;
  bool others_write = false;  // other sequences of transfers may be under way in the file
  // For measuring.
  bool shared = true;   // tasks of a host share memory, else each counts as a host
  bool overlap = true;  // rounds between hosts, and reading ahead, go on while others are under way
  bool reuse = true;    // a plan is kept as long as it holds

  // Bytes of a window, at most `size`: a short range is shared by all owners, but for units of several
  // windows, which have one owner each.
  int64_t window_of_range(int64_t range, int64_t size, int64_t owners) const {
    const bool parts = unit > size;
    const int64_t grain = std::max<int64_t>({block, parts ? 0 : unit, 1}),
                  least = std::max(short_window, grain);
    if (parts) owners = std::clamp<int64_t>(range / unit, 1, owners);
    while (size / 2 >= least && size / 2 % grain == 0 && range / size < windows_of_an_owner * owners)
      size /= 2;
    return size;
  }
};

class Collective {
 public:
  explicit Collective(Comm& comm) : comm_(comm) {}

  // Collective. `problem`: why this task cannot take part; it then brings nothing, and all tasks throw.
  // Throws on all tasks what the lowest failing one met (comm/agree.hpp).
  void write(File& file, const ViewAccess& access, const CollectiveOptions& how, std::optional<Error> problem,
             Tally& tally);
  // Collective. Returns the bytes read here, from the beginning of the stream on.
  int64_t read(File& file, const ViewAccess& access, const CollectiveOptions& how,
               std::optional<Error> problem, Tally& tally);

  // Collective, on several hosts. Spares the first transfer to find them.
  void find_hosts(const CollectiveOptions& how);

  // Local. What a transfer of many bytes by all tasks uses.
  struct Chosen {
    int64_t aggregators = 1;
    int64_t window = 0;  // bytes that an aggregator transfers at once
    // Ranks of the tasks that access the file; on one host every task, `aggregators` at a time.
    std::vector<int64_t> tasks{};
  };
  Chosen chosen(File& file, const CollectiveOptions& how) const;

 private:
  // What all tasks know of a call; sizes and pieces of several hosts are about right, and not too small.
  struct CallSummary {
    int64_t low = 0;
    int64_t high = 0;
    bool repeated = false;     // every task wants what it wanted before
    bool changed = false;      // somebody has written alone what others may not know of
    bool waits = false;        // somebody goes alone when that is published
    bool alone = false;        // a host of several has no memory for its tasks
    bool other_hosts = false;  // the rules for aggregators are others now
    bool gaps = false;         // a third or more of some task's range is not its own
    int64_t threads = 1;       // that can run at once
    int64_t bytes = 0;         // of all tasks
    int64_t pieces = 1;
    int64_t lengths = 0;  // of their ranges, in whole blocks
    bool tiled = false;   // one host: pieces fill the range
    int call = 0;         // whose sums and ranges these are
  };
  // Bytes that no other task writes in collective calls as long as each keeps to its own; whole units.
  struct Claim {
    int64_t begin = 0;
    int64_t end = 0;
    bool has(const ViewAccess& access) const { return access.low() >= begin && access.high() <= end; }
  };
  // What this task wants in a call. Whoever reads what was written wants the same.
  struct Wish {
    uint64_t filetype = 0;
    int64_t displacement = 0;
    int64_t from = 0;
    int64_t to = 0;
    int64_t buffer = 0;
    int64_t block = 0;
    int64_t unit = 0;
    bool operator==(const Wish&) const = default;
  };

  int64_t transfer(File& file, const ViewAccess& access, const CollectiveOptions& how, bool writes,
                   std::optional<Error> problem, Tally& tally);
  void publish(File& file);
  // Whether a task carries out its part alone, whatever the others do: before it meets them, or when they
  // have published what they wrote alone.
  enum class Going : uint8_t { together, ahead, when_published };
  int64_t pens_on_one_host(const CollectiveOptions& how, int64_t threads) const;
  Going way_of(File& file, const ViewAccess& access, const CollectiveOptions& how, bool writes) const;
  int64_t touched(const CallSummary& summary, int64_t block) const;
  bool claim(const ViewAccess& access, int64_t unit);  // collective
  bool keeps_to_claim(const ViewAccess& access) const;
  bool shares_requests(const ViewAccess& access, const CallSummary& summary, const CollectiveOptions& how,
                       bool writes);
  // `access`: what is left of all that the task wants.
  CallSummary meet(File& file, const ViewAccess& all, const ViewAccess& access, const CollectiveOptions& how,
                   bool writes, const std::optional<Error>& problem, bool waits);
  void bring(const ViewAccess& access, const CollectiveOptions& how);
  // Collective; whether it is another one now.
  bool find_stage(File& file, const CollectiveOptions& how, const CallSummary& summary);
  void drop_stage();
  void make_stages(const CollectiveOptions& how, int64_t range, bool shared);
  StageCall call_for(const CallSummary& summary, const CollectiveOptions& how, int pens);
  int64_t on_one_host(File& file, const ViewAccess& access, const CollectiveOptions& how, bool writes,
                      const CallSummary& summary, Tally& tally);
  bool leave_gaps(const CollectiveOptions& how);  // collective
  std::optional<Sieving> sieving_of_gaps(const CollectiveOptions& how, RangeLock& kept_out);
  int64_t between_hosts(File& file, const ViewAccess& access, const CollectiveOptions& how, bool writes,
                        const CallSummary& summary, Tally& tally);

  Comm& comm_;
  std::unique_ptr<Hosts> hosts_;        // where there are several
  std::unique_ptr<Stage> stage_;        // of this host; null until it is needed
  std::unique_ptr<HostExchange> lane_;  // of an aggregator of several hosts
  std::optional<Wish> wish_;            // of the last call; none: nothing is known of it, or it has failed
  std::optional<uint64_t> coverage_;    // of that wish; on one host, of a write
  bool planned_ = false;                // the aggregators' plan is that of the last call
  std::optional<bool> gaps_;            // whether pieces leave gaps in windows of that plan
  Windows written_;                     // of the last write between hosts
  Claim claim_;                         // empty: a task has written elsewhere, or none has claimed anything
  int call_ = 0;                        // whose sums and ranges are next
  uint64_t next_ = 0;                   // window
};

}  // namespace sheaf::exchange
