#include "multifile/options/collective_mode.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/parse.hpp"

namespace sheaf::multifile {

namespace {

int64_t count_of(const ModeWord& word, int64_t least, int64_t most) {
  const auto count = parse_number(trimmed(word.value));
  if (!count || *count < least || *count > most)
    throw Error(Code::invalid_argument, "open mode: '" + std::string(word.word) +
                                            "' is impossible; expected a number from " +
                                            std::to_string(least) + " to " + std::to_string(most));
  return *count;
}

void set_merge(CollectiveMode& mode, const ModeWord&) { mode.merge = true; }

void set_forced(CollectiveMode& mode, const ModeWord& word) {
  mode.forced = word.value == "off" ? CollectiveMode::Forced::off : CollectiveMode::Forced::on;
  mode.forced_tasks = word.value == "off" || word.value == "auto" ? 0 : count_of(word, 1, INT32_MAX);
}

void set_hosts(CollectiveMode& mode, const ModeWord& word) {
  mode.hosts = {std::string(word.value), word.key == "collector-hosts"};
  std::ranges::replace(mode.hosts.text, comma_in_words, ',');
  mode.hosts.matches("");  // throws unless it is a regular expression
}

constexpr WordAction<CollectiveMode> collective_words[] = {
    {"collective", [](CollectiveMode& mode, const ModeWord&) { mode.wanted = true; }},
    {"collectivemerge", set_merge},
    {"cmerge", set_merge},
    {"collmsa", [](CollectiveMode& mode, const ModeWord&) { mode.renumber = true; }},
    {"collsize=",
     [](CollectiveMode& mode, const ModeWord& word) {
       const int64_t tasks = count_of(word, INT32_MIN, INT32_MAX);
       if (mode.tasks == 0) mode.tasks = std::max<int64_t>(tasks, 0);
     }},
    {"buddy", [](CollectiveMode& mode, const ModeWord&) { mode.buddies = 1; }},
    {"buddy=",
     [](CollectiveMode& mode, const ModeWord& word) {
       mode.buddies = static_cast<int>(std::max<int64_t>(1, count_of(word, 0, 99)));
     }},
    {"collective=", set_forced},
    {"collectors=",
     [](CollectiveMode& mode, const ModeWord& word) {
       mode.collectors = count_of(word, 1, INT32_MAX);
       if (mode.forced == CollectiveMode::Forced::none) mode.forced = CollectiveMode::Forced::on;
     }},
    {"collector-hosts=", set_hosts},
    {"collector-hosts-basic=", set_hosts},
    {"colldebug=", [](CollectiveMode& mode, const ModeWord& word) {
       mode.debug = static_cast<int>(count_of(word, 0, INT32_MAX));
     }}};

}  // namespace

bool apply_collective_word(CollectiveMode& mode, const ModeWord& word) {
  return apply_word<CollectiveMode>(mode, word, collective_words);
}

std::optional<CollectivePlan> plan_of(const CollectiveMode& mode, bool writes, int64_t ntasks) {
  using Forced = CollectiveMode::Forced;
  // Buddy copies require collective reading: possibly only one task of a file can access a copy, and reads it
  // for the other tasks.
  const bool asked = mode.buddies > 0 || (writes && (mode.wanted || mode.renumber));
  if (mode.forced == Forced::off ? !(writes && mode.buddies > 0) : mode.forced == Forced::none && !asked)
    return std::nullopt;
  CollectivePlan plan{.tasks_per_collector = mode.collectors > 0
                                                 ? (ntasks + mode.collectors - 1) / mode.collectors
                                             : mode.forced == Forced::on ? mode.forced_tasks
                                                                         : mode.tasks,
                      .merge = writes && mode.merge && mode.buddies == 0,
                      .equal = writes && mode.renumber,
                      .may_collect = mode.may_collect};
  if (mode.buddies > 0 && plan.tasks_per_collector == 0) plan.tasks_per_collector = ntasks;
  plan.tasks_per_collector = std::min(plan.tasks_per_collector, ntasks);
  return plan;
}

layout::Placement renumbered(const CollectiveMode& mode, Comm& all, int32_t nfiles) {
  const int32_t ntasks = all.size();
  const auto plan = mode.forced == CollectiveMode::Forced::on && nfiles > 0
                        ? plan_of(mode, true, ntasks / nfiles)
                        : std::nullopt;
  if (!plan || plan->tasks_per_collector < 2)
    throw Error(Code::invalid_argument,
                "collmsa needs a number of physical files, and SION_COLLSIZE or SION_COLLNUM for at "
                "least 2 tasks per collector (usecoll == false)");
  layout::Candidate candidate{all.rank(), true};
  if (mode.hosts.given()) {
    int64_t before = mode.may_collect;
    int64_t candidates = 0;
    all.prefix_sum_and_total(std::span(&before, 1), std::span(&candidates, 1));
    candidate = {static_cast<int32_t>(before), mode.may_collect};
    if (candidates < ntasks / plan->tasks_per_collector)
      throw Error(Code::invalid_argument, "collmsa: " + std::to_string(ntasks / plan->tasks_per_collector) +
                                              " collectors are needed, but only " +
                                              std::to_string(candidates) +
                                              " tasks are on a host that matches '" + mode.hosts.text + "'");
  }
  return layout::renumber(all.rank(), ntasks, nfiles, static_cast<int32_t>(plan->tasks_per_collector),
                          candidate);
}

}  // namespace sheaf::multifile
