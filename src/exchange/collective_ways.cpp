// The data paths of a collective transfer (exchange/collective): within one host and between hosts.
#include <algorithm>
#include <limits>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "comm/agree.hpp"
#include "exchange/collective.hpp"
#include "exchange/pieces/constants.hpp"
#include "exchange/staged.hpp"

namespace sheaf::exchange {

StageCall Collective::call_for(const CallSummary& summary, const CollectiveOptions& how, int pens) {
  const int64_t owners = hosts_ ? hosts_->owners() : 1;
  const int64_t size = how.window_of_range(summary.high - summary.low, stage_->shape().window, owners);
  const Windows windows = Windows::over(summary.low, summary.high, size, how.unit, owners);
  StageCall call(*stage_, next_, windows, stage_->ranges(summary.call), pens);
  next_ = call.end();
  return call;
}

// Returns the number of I/O tokens of a transfer within one host: how.aggregators, or by default the number
// of hardware threads (`threads`). The number of tasks, how.per_host and max_pens limit it.
int64_t Collective::pens_on_one_host(const CollectiveOptions& how, int64_t threads) const {
  const int64_t tasks = how.per_host < 0 ? comm_.size() : std::clamp<int64_t>(how.per_host, 1, comm_.size());
  return std::min<int64_t>(
      {tasks, how.aggregators > 0 ? how.aggregators : std::max<int64_t>(threads, 1), int64_t{max_pens}});
}

int64_t Collective::on_one_host(File& file, const FileAccess& access, const CollectiveOptions& how,
                                bool writes, const CallSummary& summary, IoCounters& tally) {
  const int64_t pens = pens_on_one_host(how, summary.threads);
  tally.aggregators = std::max(tally.aggregators, pens);
  const StageCall call = call_for(summary, how, static_cast<int>(pens));
  const auto loan = file.traits().dear_requests ? stage_->lend() : nullptr;
  Staged part(call, access, writes && !summary.tiled, tally);
  SharedWord& failed = stage_->sums(summary.call).failed;
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
  wish_.reset();
  agree(comm_, part.problem());
  return 0;
}

// Returns true if the exchange plan leaves gaps that are worth filling. Collective; called by writes only. If
// how.fills_gaps is set, every gap is worth filling. The result is cached until the plan changes.
bool Collective::leave_gaps(const CollectiveOptions& how) {
  if (gaps_) return *gaps_;
  int64_t somewhere = lane_ && (how.fills_gaps ? lane_->leaves_gaps(1, std::numeric_limits<int64_t>::max())
                                               : lane_->leaves_gaps(gaps_worth_filling, gap_worth_a_message));
  comm_.all_max(std::span(&somewhere, 1));
  gaps_ = somewhere != 0;
  return *gaps_;
}

// Collective. Returns how to fill the gaps that the exchange plan leaves. Returns nullopt if there are no
// gaps to fill, or if other handles may write at the same time. On task 0, `kept_out` receives the lock that
// keeps other handles out. The caller holds it until all tasks have written.
std::optional<Sieving> Collective::sieving_of_gaps(const CollectiveOptions& how, RangeLock& kept_out) {
  if ((!how.fills_gaps && how.others == nullptr) || !leave_gaps(how)) return std::nullopt;
  if (how.fills_gaps) return Sieving::always;
  if (comm_.rank() == 0) kept_out = how.others->keep_out();
  uint8_t alone = static_cast<bool>(kept_out);
  comm_.broadcast(std::as_writable_bytes(std::span(&alone, 1)), 0);
  return alone != 0 ? std::optional(Sieving::automatic) : std::nullopt;
}

int64_t Collective::between_hosts(File& file, const FileAccess& access, const CollectiveOptions& how,
                                  bool writes, const CallSummary& summary, IoCounters& tally) {
  tally.aggregators = std::max(tally.aggregators, hosts_->owners());
  std::optional<Error> problem;
  if (!std::exchange(planned_, true)) {
    const StageCall call = call_for(summary, how, 0);
    const Staged part(call, access, true, tally);
    const auto mark = [&](const WindowPart& window) { part.mark(window); };
    PutPass pass(call, access);
    if (lane_) problem = lane_->plan(call, pass, mark);
    pass.go(call.end(), mark, [](uint64_t) {});
    gaps_.reset();
  }
  std::optional<Error> moving;
  Published* const apart = writes ? file.traits().apart : nullptr;
  RangeLock kept_out;
  std::unique_lock<std::shared_mutex> alone;
  Sieving sieving = how.independent.sieving;
  if (const auto filled = apart ? sieving_of_gaps(how, kept_out) : std::nullopt) {
    alone = std::unique_lock(apart->writers());
    publish(file);
    sieving = *filled;
  }
  // The call takes the next windows of the pool. Every task must process them, so nothing may throw from here
  // to the end of the transfer.
  const StageCall call = call_for(summary, how, 0);
  Staged part(call, access, false, tally);
  if (apart) {
    apart->forget(summary.low, summary.high);
    const bool same_owners = call.windows().has_owners_of(std::exchange(written_, call.windows()));
    if (!same_owners || how.others_write) apart->forget_windows();
  }
  File& windows = file.traits().apart ? file.traits().apart->windows() : file;
  if (writes) {
    PutPass pass(call, access);
    const auto put = [&](const WindowPart& window) { part.put(window); };
    if (lane_) moving = lane_->write(call, pass, put, windows, sieving, how.overlap, tally);
    pass.go(call.end(), put, [](uint64_t) {});
  } else {
    TakePass pass(call, access);
    const auto take = [&](const WindowPart& window) { part.take(window); };
    if (lane_) moving = lane_->read(call, pass, take, windows, how.overlap, tally);
    pass.go(
        call.end(), take, [](uint64_t) {}, uint64_t{0});
  }
  if (!problem) problem = moving;
  if (apart) apart->forget(0, 0);
  try {
    agree(comm_, problem);
  } catch (...) {
    wish_.reset();
    throw;
  }
  return part.done() - access.from;
}

}  // namespace sheaf::exchange
