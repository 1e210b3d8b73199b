// The data paths of a collective transfer (exchange/collective_executor): within one host and between hosts.
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/report/trace.hpp"
#include "comm/agree.hpp"
#include "comm/reduce.hpp"
#include "exchange/collective_executor.hpp"
#include "exchange/pieces/constants.hpp"
#include "exchange/window_transfer.hpp"

namespace sheaf::exchange {

// Assigns the next numbers to the windows of the call. `tokens`: I/O tokens; 0: aggregators transfer the
// windows.
WindowCall CollectiveExecutor::next_windows(const LocalCall& call, const CallSummary& summary,
                                            int64_t tokens) {
  WindowCall windows(*pool_, next_,
                     CollectivePlanner::windows(summary, call.how, pool_->shape().window,
                                                hosts_ ? hosts_->aggregators() : 1),
                     pool_->ranges(summary.call), static_cast<int>(tokens));
  next_ = windows.end();
  return windows;
}

// Collective. Throws on all tasks if the transfer has failed on a task.
void CollectiveExecutor::conclude(const std::optional<Error>& problem) {
  const TraceEvent event("reduce outcome");
  try {
    agree(comm_, problem);
  } catch (...) {
    planner_.forget();
    throw;
  }
}

void CollectiveExecutor::write_on_one_host(const LocalCall& call, const CallSummary& summary) {
  const WindowCall windows = next_windows(call, summary, planner_.tokens(call.how, summary.facts.threads));
  const auto loan = call.target.file.traits().dear_requests ? pool_->lend() : nullptr;
  WindowTransfer part(windows, call.rest, !summary.tiled, call.counters);
  SharedWord& failed = pool_->sums(summary.call).failed;
  PutPass pass(windows, call.rest);
  pass.go(
      windows.end(), [&](const WindowPart& window) { part.put(window); },
      [&](uint64_t number) {
        part.write(number, call.target.file, call.how.independent.sieving);
        if (part.problem()) failed.store(1);
      });
  if (failed.load() != 0) conclude(part.problem());
}

int64_t CollectiveExecutor::read_on_one_host(const LocalCall& call, const CallSummary& summary) {
  const WindowCall windows = next_windows(call, summary, planner_.tokens(call.how, summary.facts.threads));
  const auto loan = call.target.file.traits().dear_requests ? pool_->lend() : nullptr;
  WindowTransfer part(windows, call.rest, false, call.counters);
  SharedWord& failed = pool_->sums(summary.call).failed;
  TakePass pass(windows, call.rest);
  pass.go(
      windows.end(), [&](const WindowPart& window) { part.take(window); },
      [&](uint64_t number) {
        part.read(number, call.target.file);
        if (part.problem()) failed.store(1);
      },
      call.how.switches.overlap ? windows_ahead : 0);
  if (failed.load() != 0) conclude(part.problem());
  return part.done() - call.rest.from;
}

// Returns true if the exchange plan leaves gaps that are worth filling. Collective. If how.fills_gaps is set,
// every gap is worth filling. The result is cached until the plan changes.
bool CollectiveExecutor::leave_gaps(const CollectiveOptions& how) {
  if (gaps_) return *gaps_;
  gaps_ = any_task(
      comm_, channel_ && (how.fills_gaps ? channel_->leaves_gaps(1, unlimited)
                                         : channel_->leaves_gaps(gaps_worth_filling, gap_worth_a_message)));
  return *gaps_;
}

// Collective. Returns how to fill the gaps that the exchange plan leaves. Returns nullopt if there are no
// gaps to fill, or if other handles may write at the same time. On task 0, `kept_out` receives the lock that
// keeps other handles out. The caller holds it until all tasks have written.
std::optional<Sieving> CollectiveExecutor::sieving_of_gaps(const CollectiveOptions& how,
                                                           RangeLock& kept_out) {
  if ((!how.fills_gaps && how.others == nullptr) || !leave_gaps(how)) return std::nullopt;
  if (how.fills_gaps) return Sieving::enabled;
  if (comm_.rank() == 0) kept_out = how.others->keep_out();
  uint8_t alone = static_cast<bool>(kept_out);
  comm_.broadcast(std::as_writable_bytes(std::span(&alone, 1)), 0);
  return alone != 0 ? std::optional(Sieving::automatic) : std::nullopt;
}

// Makes the exchange plan of the aggregators if that of the last call does not apply. Returns an error of
// this task; the tasks must transfer all the same.
std::optional<Error> CollectiveExecutor::plan_between_hosts(const LocalCall& call,
                                                            const CallSummary& summary) {
  if (planner_.is_planned()) return std::nullopt;
  const TraceEvent event("plan");
  planner_.note_plan();
  gaps_.reset();
  const WindowCall windows = next_windows(call, summary, 0);
  const WindowTransfer part(windows, call.rest, true, call.counters);
  const auto mark = [&](const WindowPart& window) { part.mark(window); };
  std::optional<Error> problem;
  PutPass pass(windows, call.rest);
  if (channel_) problem = channel_->plan(windows, pass, mark, call.how.data_method());
  pass.go(windows.end(), mark, [](uint64_t) {});
  return problem;
}

void CollectiveExecutor::write_between_hosts(const LocalCall& call, const CallSummary& summary) {
  std::optional<Error> problem = plan_between_hosts(call, summary);
  NonCoherentFile* const across = call.target.across;
  RangeLock kept_out;
  std::unique_lock<std::shared_mutex> alone;
  Sieving sieving = call.how.independent.sieving;
  if (const auto filled = across ? sieving_of_gaps(call.how, kept_out) : std::nullopt) {
    alone = across->exclude_writers();
    publish(*across);
    sieving = *filled;
  }
  // The call takes the next windows of the pool. Every task must process them, so nothing may throw from here
  // to the end of the transfer.
  const WindowCall windows = next_windows(call, summary, 0);
  WindowTransfer part(windows, call.rest, false, call.counters);
  if (across) {
    across->forget(summary.facts.low, summary.facts.high);
    const bool same_aggregators =
        windows.windows().has_aggregators_of(std::exchange(written_, windows.windows()));
    if (!same_aggregators || call.how.others_write) across->forget_windows();
  }
  File& file = across ? across->windows() : call.target.file;
  PutPass pass(windows, call.rest);
  const auto put = [&](const WindowPart& window) { part.put(window); };
  std::optional<Error> moving;
  if (channel_) {
    moving = channel_->write(windows, pass, put, {file, call.how.switches.overlap, call.counters, sieving});
    if (across) attempt(moving, [&] { across->publish(); });
  }
  pass.go(windows.end(), put, [](uint64_t) {});
  if (across) across->forget(0, 0);
  conclude(problem ? problem : moving);
}

int64_t CollectiveExecutor::read_between_hosts(const LocalCall& call, const CallSummary& summary) {
  std::optional<Error> problem = plan_between_hosts(call, summary);
  const WindowCall windows = next_windows(call, summary, 0);
  WindowTransfer part(windows, call.rest, false, call.counters);
  File& file = call.target.across ? call.target.across->windows() : call.target.file;
  TakePass pass(windows, call.rest);
  const auto take = [&](const WindowPart& window) { part.take(window); };
  std::optional<Error> moving;
  if (channel_)
    moving = channel_->read(windows, pass, take, {file, call.how.switches.overlap, call.counters});
  pass.go(
      windows.end(), take, [](uint64_t) {}, uint64_t{0});
  conclude(problem ? problem : moving);
  return part.done() - call.rest.from;
}

}  // namespace sheaf::exchange
