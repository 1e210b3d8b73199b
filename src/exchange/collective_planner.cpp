#include "exchange/collective_planner.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "exchange/pieces/constants.hpp"
#include "exchange/pieces/coverage.hpp"

namespace sheaf::exchange {

namespace {

bool is_within(const FileAccess& access, const Extent& extent) {
  return access.low() >= extent.offset && access.high() <= extent.end();
}

int64_t saturated_product(int64_t a, int64_t b) { return checked_mul(a, b).value_or(unlimited); }

// Returns true if the access is one extent that fills most of the blocks that it touches. Such extents of
// several tasks do not interleave, so merging them would not save a request.
bool is_one_extent(const FileAccess& access, int64_t block) {
  const int64_t bytes = access.bytes();
  return access.high() - access.low() == bytes && length_in_units(access, block) <= bytes + bytes / 2;
}

// Returns true if a third or more of the access's range belongs to other tasks.
bool has_gaps(const FileAccess& access) { return (access.high() - access.low()) / 3 > access.bytes() / 2; }

// Returns true if the task must not exchange: exchange is disabled, the file type is not ordered, or there is
// no other task.
bool cannot_exchange(const FileAccess& access, const CollectiveOptions& how, int64_t tasks) {
  return how.exchange == CollectiveOptions::Buffering::disabled || !access.filetype->is_ordered() ||
         tasks == 1;
}

// Returns the length of the range that the tasks access; between hosts, an estimate.
int64_t accessed_range(const CallSummary& summary, const PoolFacts& pool) {
  return pool.several_hosts ? std::min(summary.range(), summary.lengths) : pool.touched;
}

// Returns true if the lengths of the tasks' ranges add up to at most 1.5 times the bytes that the ranges
// cover together. Between hosts, that cover is unknown: the range of the call serves as an estimate, and the
// ranges are not separate if a task has gaps.
bool are_separate(const CallSummary& summary, const PoolFacts& pool) {
  const int64_t range = pool.several_hosts ? summary.range() : pool.touched;
  return !(pool.several_hosts && summary.facts.gaps) && summary.lengths <= range + range / 2;
}

// Returns the largest multiple of `unit` up to `wanted`. If `unit` is larger than `wanted`, halves it until
// it fits or is odd, and returns it.
int64_t window_of_units(int64_t unit, int64_t wanted) {
  if (unit <= wanted) return wanted - wanted % unit;
  while (unit > wanted && unit % 2 == 0) unit /= 2;
  return unit;
}

int64_t window_size(const CollectiveOptions& how, int64_t usual) {
  const int64_t wanted = how.buffer > 0 ? std::min(how.buffer, usual) : usual;
  if (how.unit > 0) return window_of_units(how.unit, wanted);
  if (how.block > wanted) return std::min(how.block, largest_window);
  return wanted - wanted % std::max<int64_t>(how.block, 1);
}

}  // namespace

CallSummary::CallSummary(const CallFacts& combined, int64_t tasks)
    : CallTotals{saturated_product(combined.bytes, tasks),
                 std::max<int64_t>(saturated_product(combined.pieces, tasks), 1),
                 saturated_product(combined.lengths, tasks)},
      facts(combined) {}

IoPath CollectivePlanner::write_path(const FileAccess& access, const CollectiveOptions& how) const {
  if (access.bytes() <= 0) return IoPath::collective;
  if (how.independent.locked || cannot_exchange(access, how, tasks_)) return IoPath::independent;
  if (how.exchange == CollectiveOptions::Buffering::enabled) return IoPath::collective;
  const bool large = how.unit > 0 ? keeps_exclusive(access) || access.has_whole_units(how.unit)
                                  : access.bytes() / access.pieces() >= piece_worth_a_write ||
                                        is_one_extent(access, how.block);
  return large ? IoPath::independent : IoPath::collective;
}

IoPath CollectivePlanner::read_path(const FileAccess& access, const CollectiveOptions& how,
                                    ReadSource source) const {
  if (access.bytes() <= 0) return IoPath::collective;
  if (how.independent.locked || source == ReadSource::own_writes) return IoPath::independent;
  if (cannot_exchange(access, how, tasks_))
    return source == ReadSource::other_hosts ? IoPath::independent_after_publish : IoPath::independent;
  const bool large = how.unit == 0 && (access.bytes() / access.pieces() >= piece_worth_a_read ||
                                       is_one_extent(access, how.block));
  return large && how.exchange == CollectiveOptions::Buffering::automatic ? IoPath::independent
                                                                          : IoPath::collective;
}

CallFacts CollectivePlanner::begin(const FileAccess& access, const CollectiveOptions& how) {
  const bool works = access.bytes() > 0;
  begun_ = {.buffer = how.buffer,
            .block = how.block,
            .unit = how.unit,
            .switches = how.switches,
            .methods = how.methods};
  if (works) {
    begun_.filetype = access.filetype->fingerprint();
    begun_.displacement = access.displacement;
    begun_.from = access.from;
    begun_.to = access.to;
  }
  CallFacts facts;
  facts.differs = !how.switches.reuse || signature_ != begun_;
  if (facts.differs) coverage_.reset();
  if (!works) return facts;
  facts.low = access.low();
  facts.high = access.high();
  facts.bytes = access.bytes();
  facts.pieces = access.pieces();
  facts.lengths = length_in_units(access, std::max(how.block, how.unit));
  facts.gaps = has_gaps(access);
  return facts;
}

uint64_t CollectivePlanner::coverage_of(const FileAccess& access) {
  if (!coverage_) coverage_ = coverage(access, access.from, access.to);
  return *coverage_;
}

CallSummary CollectivePlanner::summarize(const CallFacts& combined) {
  if (combined.outside) exclusive_ = {};
  if (combined.failed) {
    forget();
  } else if (combined.differs) {
    signature_ = begun_;
    planned_ = false;
  }
  return {combined, tasks_};
}

Merging CollectivePlanner::merge_writes(const CallSummary& summary, const CollectiveOptions& how,
                                        const PoolFacts& pool) {
  if (how.unit <= 0) return merge_reads(summary, how, pool);
  if (summary.range() / pool.window >= max_windows) return Merging::none;
  return how.exchange == CollectiveOptions::Buffering::enabled || !are_separate(summary, pool)
             ? Merging::all
             : Merging::unless_exclusive;
}

Merging CollectivePlanner::merge_reads(const CallSummary& summary, const CollectiveOptions& how,
                                       const PoolFacts& pool) {
  const int64_t range = accessed_range(summary, pool);
  const auto all_if = [](bool pays) { return pays ? Merging::all : Merging::none; };
  if (how.exchange == CollectiveOptions::Buffering::enabled)
    return all_if(range / very_sparse <= std::max(summary.bytes, pool.window));
  if (are_separate(summary, pool)) return Merging::none;
  const int64_t gaps = std::max<int64_t>(range - summary.bytes, 0);
  return all_if(range / sparse <= summary.bytes || gaps / summary.pieces < gap_worth_a_request);
}

Windows CollectivePlanner::windows(const CallSummary& summary, const CollectiveOptions& how, int64_t size,
                                   int64_t aggregators) {
  // The pool may have been made for another unit: reads and writes may differ in it.
  if (how.unit > 0) size = window_of_units(how.unit, size);
  const int64_t window = window_of_range(how, summary.range(), size, aggregators);
  if (!how.switches.aligned && how.unit <= 0 && aggregators > 1)
    return Windows::contiguous(summary.facts.low, summary.facts.high, window, aggregators);
  return Windows::over(summary.facts.low, summary.facts.high, window, how.unit, aggregators);
}

int64_t CollectivePlanner::tokens(const CollectiveOptions& how, int64_t threads) const {
  const int64_t tasks = how.per_host < 0 ? tasks_ : std::clamp<int64_t>(how.per_host, 1, tasks_);
  return std::min<int64_t>(
      {tasks, how.aggregators > 0 ? how.aggregators : std::max<int64_t>(threads, 1), int64_t{max_tokens}});
}

bool CollectivePlanner::keeps_exclusive(const FileAccess& access) const {
  return is_within(access, exclusive_) && !has_gaps(access);
}

bool CollectivePlanner::set_exclusive(const FileAccess& access, const Extent& extent) {
  exclusive_ = extent;
  return access.bytes() > 0 && is_within(access, exclusive_);
}

int64_t window_of_range(const CollectiveOptions& how, int64_t range, int64_t size, int64_t sharers) {
  const bool parts = how.unit > size;
  // Parts of a unit may be shorter than a block: no other aggregator writes the rest of the block.
  const int64_t grain = std::max<int64_t>({how.block <= size ? how.block : 0, parts ? 0 : how.unit, 1}),
                least = std::max(short_window, grain);
  if (parts) sharers = std::clamp<int64_t>(range / how.unit, 1, sharers);
  while (size / 2 >= least && size / 2 % grain == 0 && range / size < windows_of_an_aggregator * sharers)
    size /= 2;
  return size;
}

WindowPoolShape shape_on_one_host(const CollectiveOptions& how, bool dear_requests) {
  return {window_size(how, dear_requests ? dear_window : usual_window), window_slots};
}

WindowPoolShape shape_between_hosts(const CollectiveOptions& how, int64_t aggregators, int64_t channels,
                                    int64_t range) {
  const int64_t slots = rounds_under_way * aggregators, memory = memory_of_a_channel * channels;
  const int64_t usual =
      std::clamp(memory / slots / min_hosts_window * min_hosts_window, min_hosts_window, hosts_window);
  return {window_of_range(how, range, window_size(how, usual), aggregators), static_cast<int>(slots)};
}

int64_t length_in_units(const FileAccess& access, int64_t unit) {
  return access.high() - access.low() + access.low() % unit + (unit - access.high() % unit) % unit;
}

int64_t touched_bytes(std::vector<Extent> extents, int64_t block) {
  for (Extent& extent : extents)
    extent = Extent::between(extent.offset - extent.offset % block,
                             saturated_add(extent.end(), (block - extent.end() % block) % block));
  std::ranges::sort(extents, {}, &Extent::offset);
  int64_t bytes = 0, end = 0;
  for (const Extent& extent : extents) {
    bytes += std::max<int64_t>(extent.end() - std::max(extent.offset, end), 0);
    end = std::max(end, extent.end());
  }
  return bytes;
}

}  // namespace sheaf::exchange
