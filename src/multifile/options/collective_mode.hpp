// multifile/options/collective_mode: words of the open mode and environment variables that request collective
// I/O (docs/api-collective.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "comm/comm.hpp"
#include "layout/collective.hpp"
#include "multifile/options/collector_hosts.hpp"
#include "multifile/options/mode_words.hpp"

namespace sheaf::multifile {

struct CollectiveMode {
  // Words of the SION API. Except `buddy`, they apply to writing only.
  bool wanted = false;    // word `collective`
  bool merge = false;     // words `collectivemerge`, `cmerge`; only with collective writing
  bool renumber = false;  // word `collmsa`
  int64_t tasks = 0;      // first word `collsize=N`; 0: automatic
  int buddies = 0;        // words `buddy`, `buddy=L`: number of copies
  // Words `collective=auto|off|N` and `collectors=N`, set by SION_COLLSIZE and SION_COLLNUM. They apply to
  // reading and writing, and override the words above.
  enum class Forced : uint8_t { none, off, on };
  Forced forced = Forced::none;
  int64_t forced_tasks = 0;  // per collector; 0: automatic
  int64_t collectors = 0;    // per physical file; 0: not given
  HostPattern hosts;         // hosts with tasks that may collect
  int debug = 0;             // >= 1: the open reports collectors on stderr; >= 3: reports each collector
  bool may_collect = true;   // whether `hosts` matches the host of this task; set by the open, not by a word
};

// How the tasks of one physical file cooperate.
struct CollectivePlan {
  int64_t tasks_per_collector = 0;  // 0: automatic
  bool merge = false;
  bool equal = false;       // groups have exactly tasks_per_collector tasks, regardless of their requests
  bool may_collect = true;  // this task may begin a group
  bool is_automatic() const { return tasks_per_collector == 0; }
};

// Applies one word to `mode`. Returns false if the word is not about collective I/O. Throws
// `invalid_argument` for an invalid value.
bool apply_collective_word(CollectiveMode& mode, const ModeWord& word);

// The character that replaces commas in an expression from the environment (multifile/options/environment),
// because commas separate words. apply_collective_word() restores the commas.
inline constexpr char comma_in_words = '\x1f';

// Returns how the `ntasks` tasks of a physical file cooperate when they write or read it. Returns nothing if
// `mode` requests no collective I/O.
std::optional<CollectivePlan> plan_of(const CollectiveMode& mode, bool writes, int64_t ntasks);

// Returns the place in `nfiles` physical files that the word `collmsa` assigns to this task of `all`.
// Collective if the mode names hosts, else local. Throws `invalid_argument` on all tasks alike unless three
// conditions hold: the environment gives at least 2 tasks per collector, the numbers fit (layout::renumber),
// and enough tasks may collect.
layout::Placement renumbered(const CollectiveMode& mode, Comm& all, int32_t nfiles);

}  // namespace sheaf::multifile
