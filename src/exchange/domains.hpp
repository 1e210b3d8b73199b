// exchange/domains: which aggregator gets which bytes of a task, and in which round.
//
// Shared files: every aggregator has a file domain, a run of windows; a round brings a window of each. Multifiles: the tasks
// are in groups, whose aggregator gets all that its group has, wherever that belongs; a round brings as much of every task
// as the aggregator has memory for. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "exchange/access.hpp"
#include "exchange/windows.hpp"

namespace sheaf::exchange {

// Windows that one aggregator shall have together: `each` of them, and the first stretch lacks `before`.
struct Stretches {
  int64_t each = 1;
  int64_t before = 0;

  // Windows of the same unit. Windows begin on multiples of their size, which divides the unit, or is a multiple of it.
  static Stretches of_units(const Windows& windows, int64_t unit);

  int64_t count(const Windows& windows) const { return (before + windows.count() - 1) / each + 1; }
};

class Domains {
 public:
  struct Part {  // of a stream
    int64_t from = 0;
    int64_t to = 0;
    int64_t bytes() const { return to - from; }
  };

  Domains() = default;
  // `aggregators` > 0 of them. `rounds`: 0, or how many to make, some maybe without a window.
  static Domains of_windows(const Windows& windows, int64_t aggregators, int64_t rounds = 0);
  // The same, where an aggregator has whole stretches.
  static Domains of_stretches(const Windows& windows, const Stretches& stretches, int64_t aggregators);
  // One aggregator, which gets `each` > 0 bytes of a task per round.
  static Domains of_shares(int64_t each, int64_t rounds);

  bool by_windows() const { return each_ == 0; }
  int64_t rounds() const { return rounds_; }

  // The bytes that the aggregator gets in the round; `access` is ordered if windows tell.
  Part part(const Access& access, int64_t aggregator, int64_t round) const;
  // All that it gets.
  Part whole(const Access& access, int64_t aggregator) const;

  // Windows of an aggregator: how many, and which comes in a round.
  int64_t windows_of(int64_t aggregator) const;
  int64_t begin(int64_t aggregator, int64_t round) const { return windows_.begin(first_of(aggregator) + round); }
  int64_t end(int64_t aggregator, int64_t round) const { return windows_.end(first_of(aggregator) + round); }
  int64_t window_size() const { return windows_.size; }
  bool has_window(int64_t aggregator, int64_t round) const { return round < windows_of(aggregator); }

 private:
  int64_t first_of(int64_t aggregator) const;

  Windows windows_;
  Stretches stretches_;
  int64_t aggregators_ = 1;
  int64_t each_ = 0;  // 0: windows
  int64_t rounds_ = 0;
};

}  // namespace sheaf::exchange
