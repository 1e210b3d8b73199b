// The three ways of a collective transfer (exchange/collective).
#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "comm/agree.hpp"
#include "exchange/collective_parts.hpp"
#include "exchange/host_exchange.hpp"
#include "exchange/pieces/constants.hpp"
#include "exchange/staged.hpp"

namespace sheaf::exchange {

int64_t Collective::go_alone(File& file, const ViewAccess& access, const CollectiveOptions& how, bool writes,
                             Tally& tally) {
  int64_t done = 0;
  under_lock(file, access, how.serial, writes, [&] {
    IndependentOptions independent = how.independent;
    independent.locked = how.serial;
    if (writes) {
      write_independent(file, access, independent, tally);
    } else {
      done = read_independent(file, access, independent, tally);
    }
  });
  return done;
}

StageCall Collective::call_for(const CallSummary& summary, const CollectiveOptions& how, int pens) {
  std::vector<StageCall::Range> ranges;
  for (const Stage::Range& range : stage_->ranges(summary.call))
    if (const StageCall::Range known{range.low.load(), range.high.load()}; known.low < known.high)
      ranges.push_back(known);
  int64_t size = stage_->shape().window;
  const int64_t owners = hosts_ ? hosts_->owners() : 1, unit = how.unit;
  // A short range is shared by all owners.
  const int64_t least = std::max({short_window, how.block, unit}),
                grain = std::max<int64_t>({how.block, unit, 1});
  while (size / 2 >= least && size / 2 % grain == 0 && (summary.high - summary.low) / size < 4 * owners)
    size /= 2;
  const Windows windows = Windows::over(summary.low, summary.high, size, unit, owners);
  StageCall call(*stage_, next_, windows, ranges, pens);
  next_ = call.end();
  return call;
}

int64_t Collective::on_one_host(File& file, const ViewAccess& access, const CollectiveOptions& how,
                                bool writes, const CallSummary& summary, Tally& tally) {
  const int64_t tasks = how.per_host < 0 ? comm_.size() : std::clamp<int64_t>(how.per_host, 1, comm_.size());
  int64_t pens =
      std::min<int64_t>({tasks, how.aggregators > 0 ? how.aggregators : summary.threads, int64_t{most_pens}});
  tally.aggregators = std::max(tally.aggregators, pens);
  if (writes && how.aggregators == 0 && how.writers > 0) pens = std::min(pens, how.writers);
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

// Asked for by writes only, once for a plan.
bool Collective::leave_gaps() {
  if (gaps_) return *gaps_;
  int64_t somewhere = lane_ && lane_->leaves_gaps();
  comm_.all_max(std::span(&somewhere, 1));
  gaps_ = somewhere != 0;
  return *gaps_;
}

int64_t Collective::between_hosts(File& file, const ViewAccess& access, const CollectiveOptions& how,
                                  bool writes, const CallSummary& summary, Tally& tally) {
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
  const StageCall call = call_for(summary, how, 0);
  Staged part(call, access, false, tally);
  std::optional<Error> moving;
  Published* const apart = writes ? file.traits().apart : nullptr;
  std::unique_lock<std::shared_mutex> alone;
  Sieving sieving = how.independent.sieving;
  if (apart && how.fills_gaps && leave_gaps()) {
    alone = std::unique_lock(apart->writers());
    publish(file);
    sieving = Sieving::always;
  }
  if (apart) apart->forget(summary.low, summary.high);
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
