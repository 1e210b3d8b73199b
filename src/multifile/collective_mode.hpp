// multifile/collective_mode: the words of the open mode and the environment variables that ask for collective I/O
// (docs/api-collective.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "comm/comm.hpp"
#include "layout/collective.hpp"

namespace sheaf {

struct CollectiveMode {
  // Words of the SION API; they count in writing only.
  bool wanted = false;   // collective
  bool merge = false;    // collectivemerge, cmerge: with collective writing
  bool renumber = false;  // collmsa
  int64_t tasks = 0;     // collsize=N, the first; 0: automatic
  int buddies = 0;       // buddy, buddy=L: copies
  // collective=auto|off|N and collectors=N, the form of SION_COLLSIZE and SION_COLLNUM: both directions, and they win.
  enum class Forced : uint8_t { no, off, on };
  Forced forced = Forced::no;
  int64_t forced_tasks = 0;  // per collector; 0: automatic
  int64_t collectors = 0;    // per physical file; 0: not given
};

// How the tasks of one physical file work together.
struct CollectivePlan {
  int64_t tasks_per_collector = 0;  // 0: automatic
  bool merge = false;
  bool equal = false;  // groups of exactly so many tasks, whatever they ask for
  bool is_automatic() const { return tasks_per_collector == 0; }
};

// Takes over one word; `value` is what follows its '='. False if it is none of these. Throws invalid_argument for an
// impossible value.
bool apply_collective_word(CollectiveMode& mode, std::string_view word, std::string_view key, std::string_view value);

// What SION_COLLSIZE and SION_COLLNUM say, as words; empty if they are not set or no numbers.
std::string collective_environment();

// Nothing if a file of `ntasks` tasks is not to be written (read) collectively.
std::optional<CollectivePlan> plan_of(const CollectiveMode& mode, bool writes, int64_t ntasks);

// The same for a file of `ntasks` of the tasks of `all`. Threads of several processes always write and read on their own:
// what they say to each other needs the first thread of the process, which would be waiting for other collectors.
inline std::optional<CollectivePlan> plan_of(const CollectiveMode& mode, bool writes, const Comm& all, int64_t ntasks) {
  return all.grain() > 1 ? std::nullopt : plan_of(mode, writes, ntasks);
}

// Where the word collmsa puts a task of `ntasks` in `nfiles` files. Throws invalid_argument on all tasks alike unless the
// environment gives at least 2 tasks per collector and the numbers fit (layout::renumber).
layout::Renumbered renumbered(const CollectiveMode& mode, int32_t task, int32_t ntasks, int32_t nfiles);

}  // namespace sheaf
