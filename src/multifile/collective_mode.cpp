#include "multifile/collective_mode.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/error.hpp"

namespace sheaf {

namespace {

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

int64_t count_of(std::string_view word, std::string_view value, int64_t least, int64_t most) {
  const auto count = number(value);
  if (!count || *count < least || *count > most)
    throw Error(Code::invalid_argument, "open mode: '" + std::string(word) + "' is impossible; expected a number from " +
                                            std::to_string(least) + " to " + std::to_string(most));
  return *count;
}

std::optional<int64_t> variable(const char* name) {
  const char* const set = std::getenv(name);
  return set ? number(set) : std::nullopt;
}

}  // namespace

bool apply_collective_word(CollectiveMode& mode, std::string_view word, std::string_view key, std::string_view value) {
  if (word == "collective") {
    mode.wanted = true;
  } else if (word == "collectivemerge" || word == "cmerge") {
    mode.merge = true;
  } else if (word == "collmsa") {
    mode.renumber = true;
  } else if (key == "collsize") {
    const int64_t tasks = count_of(word, value, INT32_MIN, INT32_MAX);
    if (mode.tasks == 0) mode.tasks = std::max<int64_t>(tasks, 0);
  } else if (key == "buddy") {
    mode.buddies = word == "buddy" ? 1 : static_cast<int>(std::max<int64_t>(1, count_of(word, value, 0, 99)));
  } else if (key == "collective") {
    const int64_t tasks = value == "auto" ? 0 : value == "off" ? -1 : count_of(word, value, 1, INT32_MAX);
    mode.forced = tasks < 0 ? CollectiveMode::Forced::off : CollectiveMode::Forced::on;
    mode.forced_tasks = std::max<int64_t>(tasks, 0);
  } else if (key == "collectors") {
    mode.collectors = count_of(word, value, 1, INT32_MAX);
    if (mode.forced == CollectiveMode::Forced::no) mode.forced = CollectiveMode::Forced::on;
  } else {
    return false;
  }
  return true;
}

std::string collective_environment() {
  std::string words;
  if (const auto tasks = variable("SION_COLLSIZE"); tasks && *tasks <= INT32_MAX)
    words = *tasks == 0 ? "collective=off" : *tasks < 0 ? "collective=auto" : "collective=" + std::to_string(*tasks);
  if (const auto collectors = variable("SION_COLLNUM"); collectors && *collectors > 0 && *collectors <= INT32_MAX)
    words += (words.empty() ? "collectors=" : ",collectors=") + std::to_string(*collectors);
  return words;
}

std::optional<CollectivePlan> plan_of(const CollectiveMode& mode, bool writes, int64_t ntasks) {
  using Forced = CollectiveMode::Forced;
  const bool asked = writes && (mode.wanted || mode.renumber || mode.buddies > 0);
  if (mode.forced == Forced::off ? !(writes && mode.buddies > 0) : mode.forced == Forced::no && !asked) return std::nullopt;
  CollectivePlan plan;
  plan.merge = writes && mode.merge && mode.buddies == 0;
  if (mode.collectors > 0) {
    plan.tasks_per_collector = (ntasks + mode.collectors - 1) / mode.collectors;
  } else if (mode.forced == Forced::on) {
    plan.tasks_per_collector = mode.forced_tasks;
  } else {
    plan.tasks_per_collector = mode.tasks;
  }
  if (mode.buddies > 0 && plan.tasks_per_collector == 0) plan.tasks_per_collector = ntasks;
  plan.tasks_per_collector = std::min(plan.tasks_per_collector, ntasks);
  plan.equal = writes && mode.renumber;
  return plan;
}

layout::Renumbered renumbered(const CollectiveMode& mode, int32_t task, int32_t ntasks, int32_t nfiles) {
  const auto plan = mode.forced == CollectiveMode::Forced::on && nfiles > 0 ? plan_of(mode, true, ntasks / nfiles) : std::nullopt;
  if (!plan || plan->tasks_per_collector < 2)
    throw Error(Code::invalid_argument, "collmsa needs a number of physical files, and SION_COLLSIZE or SION_COLLNUM for at "
                                        "least 2 tasks per collector (usecoll == false)");
  return layout::renumber(task, ntasks, nfiles, static_cast<int32_t>(plan->tasks_per_collector));
}

}  // namespace sheaf
