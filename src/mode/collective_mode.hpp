// mode/collective_mode: the words of the open mode and the environment variables that ask for collective I/O
// (docs/api-collective.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "comm/comm.hpp"
#include "layout/collective.hpp"
#include "mode/collector_hosts.hpp"

namespace sheaf {

struct CollectiveMode {
  // Words of the SION API; they count in writing only.
  bool wanted = false;    // collective
  bool merge = false;     // collectivemerge, cmerge: with collective writing
  bool renumber = false;  // collmsa
  int64_t tasks = 0;      // collsize=N, the first; 0: automatic
  int buddies = 0;        // buddy, buddy=L: copies
  // collective=auto|off|N and collectors=N, the form of SION_COLLSIZE and SION_COLLNUM: both directions, and
  // they win.
  enum class Forced : uint8_t { no, off, on };
  Forced forced = Forced::no;
  int64_t forced_tasks = 0;  // per collector; 0: automatic
  int64_t collectors = 0;    // per physical file; 0: not given
  HostPattern hosts;         // of tasks that may collect
  int debug = 0;             // >= 1: the open tells about collectors on stderr, >= 3: about each of them
  bool may_collect = true;   // this task, as `hosts` says of its host; set by who opens, not by a word
};

// How the tasks of one physical file work together.
struct CollectivePlan {
  int64_t tasks_per_collector = 0;  // 0: automatic
  bool merge = false;
  bool equal = false;       // groups of exactly so many tasks, whatever they ask for
  bool may_collect = true;  // this task may begin a group
  bool is_automatic() const { return tasks_per_collector == 0; }
};

// Takes over one word; `value` is what follows its '='. False if it is none of these. Throws invalid_argument
// for an impossible value.
bool apply_collective_word(CollectiveMode& mode, std::string_view word, std::string_view key,
                           std::string_view value);

// Commas of expressions in words that the environment gives (mode/environment), which apply_collective_word()
// turns back.
inline constexpr char comma_in_words = '\x1f';

// Nothing if a file of `ntasks` tasks is not to be written (read) collectively.
std::optional<CollectivePlan> plan_of(const CollectiveMode& mode, bool writes, int64_t ntasks);

// Where the word collmsa puts this one of the tasks of `all` in `nfiles` files. Collective if the mode names
// hosts. Throws invalid_argument on all tasks alike unless the environment gives at least 2 tasks per
// collector, the numbers fit (layout::renumber) and enough tasks may collect.
layout::Placement renumbered(const CollectiveMode& mode, Comm& all, int32_t nfiles);

}  // namespace sheaf
