// exchange/messages: collective transfers of tasks on several nodes: two-phase I/O by messages.
//
// Aggregators, spread over the nodes, have file domains. When a plan is made, every task tells each aggregator once which
// bytes of its domain it has, in a short code; then only data travel, as long as nobody wants anything else. They go in
// rounds, a window of each domain in one; while an aggregator works on the file, the messages of the next round travel.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "exchange/access.hpp"
#include "exchange/independent.hpp"
#include "exchange/tally.hpp"
#include "exchange/windows.hpp"
#include "layout/aggregators.hpp"
#include "storage/store.hpp"

namespace sheaf::exchange {

class Messages {
 public:
  // Collective: finds out which tasks share a node.
  explicit Messages(Comm& comm);

  // Collective. Makes the plan of a transfer; throws on all tasks if one cannot.
  void make_plan(const Access& access, const Windows& windows, const layout::AggregatorRules& rules);
  int64_t aggregators() const { return std::ssize(aggregators_); }

  // Collective; by the plan, which must be that of `access`. Nothing is thrown; returns what went wrong here. A task that
  // wants something else takes part with its access of the plan and brings nothing (`absent`), so that nobody waits in vain:
  // windows that it belongs to are not written.
  std::optional<Error> write(File& file, const Access& access, bool absent, Sieving sieving, bool overlap, Tally& tally);
  // `done`: the position in the stream up to which bytes were read. An absent task's memory is left alone.
  std::optional<Error> read(File& file, const Access& access, bool absent, bool overlap, int64_t& done, Tally& tally);

 private:
  // A task with bytes in this aggregator's domain.
  struct Sender {
    int task = 0;
    layout::TypeMap pieces;
    Access part(int64_t from, int64_t to, std::byte* memory) const;
    int64_t position_at(int64_t offset) const { return std::min(pieces.bytes_below(offset), pieces.size()); }
  };
  struct Span {  // of windows
    int64_t first = 0;
    int64_t end = 0;
  };
  struct Buffers;

  Span domain(int64_t aggregator) const;
  int64_t rounds() const;
  int64_t begin_of(int64_t window) const { return windows_.begin(window); }
  void learn_pieces(const Access& access);
  // visit(aggregator, from, to) for what this task has in the windows of a round.
  template <class Visit>
  void for_each_own(const Access& access, int64_t round, Visit visit) const;

  Comm& comm_;
  std::vector<int64_t> nodes_;
  Windows windows_;
  std::vector<int> aggregators_;
  int64_t mine_ = -1;  // number among the aggregators; -1: none
  std::vector<Sender> senders_;
  std::vector<bool> full_;  // windows of this domain that the tasks tile
};

}  // namespace sheaf::exchange
