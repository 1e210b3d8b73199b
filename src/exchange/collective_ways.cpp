// The data paths of a collective transfer (exchange/collective): within one host and between hosts.
#include <algorithm>
#include <limits>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "comm/agree.hpp"
#include "exchange/collective.hpp"
#include "exchange/pieces/constants.hpp"
#include "exchange/window_transfer.hpp"

namespace sheaf::exchange {

WindowCall Collective::call_for(const CallSummary& summary, const CollectiveOptions& how, int tokens) {
  const int64_t aggregators = hosts_ ? hosts_->aggregators() : 1;
  const int64_t size = how.window_of_range(summary.high - summary.low, pool_->shape().window, aggregators);
  const Windows windows = Windows::over(summary.low, summary.high, size, how.unit, aggregators);
  WindowCall call(*pool_, next_, windows, pool_->ranges(summary.call), tokens);
  next_ = call.end();
  return call;
}

// Returns the number of I/O tokens of a transfer within one host: how.aggregators, or by default the number
// of hardware threads (`threads`). The number of tasks, how.per_host and max_tokens limit it.
int64_t Collective::tokens_on_one_host(const CollectiveOptions& how, int64_t threads) const {
  const int64_t tasks = how.per_host < 0 ? comm_.size() : std::clamp<int64_t>(how.per_host, 1, comm_.size());
  return std::min<int64_t>(
      {tasks, how.aggregators > 0 ? how.aggregators : std::max<int64_t>(threads, 1), int64_t{max_tokens}});
}

int64_t Collective::on_one_host(File& file, const FileAccess& access, const CollectiveOptions& how,
                                bool writes, const CallSummary& summary, IoCounters& counters) {
  const int64_t tokens = tokens_on_one_host(how, summary.threads);
  counters.aggregators = std::max(counters.aggregators, tokens);
  const WindowCall call = call_for(summary, how, static_cast<int>(tokens));
  const auto loan = file.traits().dear_requests ? pool_->lend() : nullptr;
  WindowTransfer part(call, access, writes && !summary.tiled, counters);
  SharedWord& failed = pool_->sums(summary.call).failed;
  if (writes) {
    PutPass pass(call, access);
    pass.go(
        call.end(), [&](const WindowPart& window) { part.put(window); },
        [&](uint64_t number) {
          part.write(number, file, how.independent.sieving);
          if (part.problem()) failed.store(1);
        });
  } else {
    TakePass pass(call, access);
    pass.go(
        call.end(), [&](const WindowPart& window) { part.take(window); },
        [&](uint64_t number) {
          part.read(number, file);
          if (part.problem()) failed.store(1);
        },
        how.overlap ? windows_ahead : 0);
  }
  if (failed.load() == 0) return part.done() - access.from;
  signature_.reset();
  agree(comm_, part.problem());
  return 0;
}

// Returns true if the exchange plan leaves gaps that are worth filling. Collective; called by writes only. If
// how.fills_gaps is set, every gap is worth filling. The result is cached until the plan changes.
bool Collective::leave_gaps(const CollectiveOptions& how) {
  if (gaps_) return *gaps_;
  int64_t somewhere =
      channel_ && (how.fills_gaps ? channel_->leaves_gaps(1, std::numeric_limits<int64_t>::max())
                                  : channel_->leaves_gaps(gaps_worth_filling, gap_worth_a_message));
  comm_.all_max(std::span(&somewhere, 1));
  gaps_ = somewhere != 0;
  return *gaps_;
}

// Collective. Returns how to fill the gaps that the exchange plan leaves. Returns nullopt if there are no
// gaps to fill, or if other handles may write at the same time. On task 0, `kept_out` receives the lock that
// keeps other handles out. The caller holds it until all tasks have written.
std::optional<Sieving> Collective::sieving_of_gaps(const CollectiveOptions& how, RangeLock& kept_out) {
  if ((!how.fills_gaps && how.others == nullptr) || !leave_gaps(how)) return std::nullopt;
  if (how.fills_gaps) return Sieving::enabled;
  if (comm_.rank() == 0) kept_out = how.others->keep_out();
  uint8_t alone = static_cast<bool>(kept_out);
  comm_.broadcast(std::as_writable_bytes(std::span(&alone, 1)), 0);
  return alone != 0 ? std::optional(Sieving::automatic) : std::nullopt;
}

int64_t Collective::between_hosts(File& file, const FileAccess& access, const CollectiveOptions& how,
                                  bool writes, const CallSummary& summary, IoCounters& counters) {
  counters.aggregators = std::max(counters.aggregators, hosts_->aggregators());
  std::optional<Error> problem;
  if (!std::exchange(planned_, true)) {
    const WindowCall call = call_for(summary, how, 0);
    const WindowTransfer part(call, access, true, counters);
    const auto mark = [&](const WindowPart& window) { part.mark(window); };
    PutPass pass(call, access);
    if (channel_) problem = channel_->plan(call, pass, mark);
    pass.go(call.end(), mark, [](uint64_t) {});
    gaps_.reset();
  }
  std::optional<Error> moving;
  VisibilityPolicy* const visibility = writes ? file.traits().visibility : nullptr;
  RangeLock kept_out;
  std::unique_lock<std::shared_mutex> alone;
  Sieving sieving = how.independent.sieving;
  if (const auto filled = visibility ? sieving_of_gaps(how, kept_out) : std::nullopt) {
    alone = std::unique_lock(visibility->writers());
    publish(file);
    sieving = *filled;
  }
  // The call takes the next windows of the pool. Every task must process them, so nothing may throw from here
  // to the end of the transfer.
  const WindowCall call = call_for(summary, how, 0);
  WindowTransfer part(call, access, false, counters);
  if (visibility) {
    visibility->forget(summary.low, summary.high);
    const bool same_aggregators = call.windows().has_aggregators_of(std::exchange(written_, call.windows()));
    if (!same_aggregators || how.others_write) visibility->forget_windows();
  }
  File& windows = file.traits().visibility ? file.traits().visibility->windows() : file;
  if (writes) {
    PutPass pass(call, access);
    const auto put = [&](const WindowPart& window) { part.put(window); };
    if (channel_) moving = channel_->write(call, pass, put, windows, sieving, how.overlap, counters);
    pass.go(call.end(), put, [](uint64_t) {});
  } else {
    TakePass pass(call, access);
    const auto take = [&](const WindowPart& window) { part.take(window); };
    if (channel_) moving = channel_->read(call, pass, take, windows, how.overlap, counters);
    pass.go(
        call.end(), take, [](uint64_t) {}, uint64_t{0});
  }
  if (!problem) problem = moving;
  if (visibility) visibility->forget(0, 0);
  try {
    agree(comm_, problem);
  } catch (...) {
    signature_.reset();
    throw;
  }
  return part.done() - access.from;
}

}  // namespace sheaf::exchange
