#include "exchange/collective.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/checked.hpp"
#include "comm/agree.hpp"
#include "comm/helpers.hpp"
#include "exchange/pieces/constants.hpp"
#include "exchange/pieces/coverage.hpp"
#include "layout/each_piece.hpp"

namespace sheaf::exchange {

namespace {

bool is_within(const FileAccess& access, const Extent& extent) {
  return access.low() >= extent.offset && access.high() <= extent.end();
}

constexpr int64_t none = std::numeric_limits<int64_t>::min();

// Returns the number of hardware threads. Caches it, because the C library reads a kernel file for each
// query.
int64_t hardware_threads() {
  static const int64_t threads = std::thread::hardware_concurrency();
  return threads;
}

int64_t saturated_product(int64_t a, int64_t b) {
  return checked_mul(a, b).value_or(std::numeric_limits<int64_t>::max());
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

ShmWindowPool::WindowPoolShape shape_on_one_host(File& file, const CollectiveOptions& how) {
  return {window_size(how, file.traits().dear_requests ? dear_window : usual_window), window_slots};
}

// Returns the pool shape that calls over a range of this length need.
ShmWindowPool::WindowPoolShape shape_between_hosts(const CollectiveOptions& how, const HostMap& hosts,
                                                   int64_t range) {
  const int64_t slots = rounds_under_way * hosts.aggregators(),
                memory = memory_of_a_channel * hosts.channels();
  const int64_t usual =
      std::clamp(memory / slots / min_hosts_window * min_hosts_window, min_hosts_window, hosts_window);
  return {how.window_of_range(range, window_size(how, usual), hosts.aggregators()), static_cast<int>(slots)};
}

// Returns true if every extent of the access consists of whole units.
bool has_whole_units(const FileAccess& access, int64_t unit) {
  if (access.bytes() / access.pieces() < unit) return false;
  bool whole = true;
  layout::for_each_piece(
      *access.filetype, access.displacement, access.from, access.to,
      [&](int64_t offset, int64_t length) { whole = whole && offset % unit == 0 && length % unit == 0; });
  return whole;
}

HostMap::Rules rules_of(const CollectiveOptions& how, bool shared) {
  return {how.aggregators > 0 ? how.aggregators : how.stripes, how.per_host, shared};
}

// Returns true if a third or more of the access's range belongs to other tasks.
bool has_gaps(const FileAccess& access) { return (access.high() - access.low()) / 3 > access.bytes() / 2; }

// Returns the bytes of all units that the access's range overlaps.
int64_t length_in_units(const FileAccess& access, int64_t unit) {
  return access.high() - access.low() + access.low() % unit + (unit - access.high() % unit) % unit;
}

}  // namespace

void Collective::find_hosts(const CollectiveOptions& how) {
  hosts_ = HostMap::find(comm_, rules_of(how, how.shared));
}

Collective::Chosen Collective::chosen(File& file, const CollectiveOptions& how) const {
  if (hosts_)
    return {hosts_->aggregators(),
            shape_between_hosts(how, *hosts_, std::numeric_limits<int64_t>::max()).window,
            hosts_->aggregator_tasks()};
  std::vector<int64_t> tasks(static_cast<size_t>(comm_.size()));
  std::iota(tasks.begin(), tasks.end(), int64_t{0});
  return {tokens_on_one_host(how, hardware_threads()), shape_on_one_host(file, how).window, std::move(tasks)};
}

void Collective::drop_window_pool() {
  channel_.reset();
  pool_.reset();
  call_ = 0;
  next_ = 0;
}

bool Collective::find_window_pool(File& file, const CollectiveOptions& how, const CallSummary& summary) {
  const int64_t range = summary.high - summary.low;
  const bool too_small =
      pool_ && hosts_ && shape_between_hosts(how, *hosts_, range).window > pool_->shape().window;
  if (pool_ && !summary.other_hosts && !too_small) return false;
  drop_window_pool();
  if (summary.other_hosts) hosts_.reset();
  signature_.reset();
  if (how.shared && !hosts_ && comm_.node_count() == 1)
    pool_ = ShmWindowPool::make(comm_, shape_on_one_host(file, how));
  if (!pool_) make_window_pools(how, range, how.shared);
  return true;
}

// Collective. Creates the window pool and, on aggregators, the exchange between hosts. If `shared` is false,
// because tasks of some host share no memory, every task counts as a host.
void Collective::make_window_pools(const CollectiveOptions& how, int64_t range, bool shared) {
  if (!hosts_) {
    hosts_ = HostMap::find(comm_, rules_of(how, shared));
    written_ = {};
  }
  pool_ = ShmWindowPool::make(hosts_->host(), shape_between_hosts(how, *hosts_, range));
  if (hosts_->channel_number() >= 0) channel_ = std::make_unique<HostExchange>(*hosts_);
}

// Adds the values of this task to the sums and ranges of the current call. Task 0 of the host clears the sums
// of the next call, before any task can enter that call: all tasks have left the call that used them before.
void Collective::post_contribution(const FileAccess& access, const CollectiveOptions& how) {
  SHEAF_ASSERT(pool_ && call_ >= 0 && call_ < 3);
  Comm& host = hosts_ ? hosts_->host() : comm_;
  ShmWindowPool::CallSums& sums = pool_->sums(call_);
  ShmWindowPool::TaskExtent& range = pool_->ranges(call_)[static_cast<size_t>(host.rank())];
  if (host.rank() == 0) {
    ShmWindowPool::CallSums& next = pool_->sums((call_ + 1) % 3);
    for (auto* sum : {&next.bytes, &next.pieces, &next.lengths}) sum->store(0);
    next.coverage.store(0);
    next.failed.store(0);
  }
  const bool works = access.bytes() > 0;
  range.low.store(works ? access.low() : 0);
  range.high.store(works ? access.high() : 0);
  if (!works) return;
  sums.bytes.fetch_add(access.bytes());
  sums.pieces.fetch_add(access.pieces());
  sums.lengths.fetch_add(length_in_units(access, how.block));
  if (coverage_) sums.coverage.fetch_add(*coverage_);
}

Collective::CallSummary Collective::allreduce_summary(File& file, const FileAccess& all,
                                                      const FileAccess& access, const CollectiveOptions& how,
                                                      bool writes, const std::optional<Error>& problem,
                                                      bool waits) {
  const bool works = access.bytes() > 0 && !problem;
  const FileAccess brought = works ? access : FileAccess{};
  const AccessSignature mine{works ? access.filetype->fingerprint() : 0,
                             brought.displacement,
                             brought.from,
                             brought.to,
                             how.buffer,
                             how.block,
                             how.unit};
  const bool same = how.reuse && signature_ && *signature_ == mine;
  if (!same) coverage_.reset();
  if (pool_ && writes && works && !hosts_ && !coverage_) coverage_ = coverage(access, access.from, access.to);
  if (pool_) post_contribution(brought, how);
  const bool other_hosts = hosts_ && !(hosts_->rules() == rules_of(how, hosts_->rules().shared));
  const VisibilityPolicy* const visibility = file.traits().visibility;
  std::array<int64_t, 14> values{problem.has_value(),
                                 works ? -access.low() : none,
                                 works ? access.high() : none,
                                 !same,
                                 hardware_threads(),
                                 works ? access.bytes() : 0,
                                 works ? access.pieces() : 0,
                                 works ? length_in_units(access, std::max(how.block, how.unit)) : 0,
                                 other_hosts,
                                 visibility && visibility->changed(),
                                 waits,
                                 hosts_ && !pool_,
                                 works && has_gaps(access),
                                 writes && all.bytes() > 0 && !is_within_exclusive_extent(all)};
  comm_.all_max(values);
  if (values[13] != 0) exclusive_ = {};
  const int call = call_;
  if (pool_)
    call_ = (call_ + 1) % 3;  // also if the call fails: the next call must not use the sums of this one
  if (values[0] != 0) {
    signature_.reset();
    agree(comm_, problem);
  }
  CallSummary summary{.low = values[1] == none ? 0 : -values[1],
                      .high = values[2] == none ? 0 : values[2],
                      .repeated = values[3] == 0,
                      .changed = values[9] != 0,
                      .waits = values[10] != 0,
                      .alone = values[11] != 0,
                      .other_hosts = values[8] != 0,
                      .gaps = values[12] != 0,
                      .threads = std::max<int64_t>(values[4], 1),
                      .bytes = saturated_product(values[5], comm_.size()),
                      .pieces = std::max<int64_t>(saturated_product(values[6], comm_.size()), 1),
                      .lengths = saturated_product(values[7], comm_.size()),
                      .call = call};
  if (pool_ && !hosts_) {
    const ShmWindowPool::CallSums& sums = pool_->sums(call);
    summary.bytes = sums.bytes.load();
    summary.pieces = std::max<int64_t>(sums.pieces.load(), 1);
    summary.lengths = sums.lengths.load();
    summary.tiled = writes && summary.low < summary.high &&
                    sums.coverage.load() == coverage_of_range(summary.low, summary.high);
  }
  if (!summary.repeated) {
    signature_ = mine;
    planned_ = false;
  }
  return summary;
}

Collective::IoPath Collective::way_of(File& file, const FileAccess& access, const CollectiveOptions& how,
                                      bool writes) const {
  if (access.bytes() <= 0) return IoPath::collective;
  const VisibilityPolicy* const others = writes ? nullptr : file.traits().visibility;
  if (how.independent.locked || (others && others->keeps(access.low(), access.high())))
    return IoPath::independent;
  if (how.exchange == CollectiveOptions::Buffering::disabled || !access.filetype->is_ordered() ||
      comm_.size() == 1)
    return others ? IoPath::independent_after_publish : IoPath::independent;
  if (how.exchange == CollectiveOptions::Buffering::enabled) return IoPath::collective;
  const bool large =
      how.unit > 0 ? writes && (is_within_exclusive_extent(access) || has_whole_units(access, how.unit))
                   : access.bytes() / access.pieces() >= (writes ? piece_worth_a_write : piece_worth_a_read);
  return large ? IoPath::independent : IoPath::collective;
}

// Returns the bytes of all blocks that the ranges of the host's tasks overlap.
int64_t Collective::touched(const CallSummary& summary, int64_t block) const {
  std::vector<Extent> parts;
  for (const ShmWindowPool::TaskExtent& range : pool_->ranges(summary.call)) {
    const int64_t low = range.low.load(), high = range.high.load();
    if (low < high)
      parts.push_back(
          Extent::between(low - low % block, saturated_add(high, (block - high % block) % block)));
  }
  std::ranges::sort(parts, {}, &Extent::offset);
  int64_t bytes = 0, end = 0;
  for (const Extent& part : parts) {
    bytes += std::max<int64_t>(part.end() - std::max(part.offset, end), 0);
    end = std::max(end, part.end());
  }
  return bytes;
}

// Collective. Makes each task's exclusive extent begin with its first unit and end before the first unit of
// the following task. If two tasks would write one unit, returns false and leaves all tasks without an
// exclusive extent.
bool Collective::find_exclusive_extent(const FileAccess& access, int64_t unit) {
  const bool works = access.bytes() > 0;
  const int64_t begin = works ? access.low() - access.low() % unit : 0;
  exclusive_ =
      Extent::between(begin, shift(comm_, begin, Neighbour::following, std::numeric_limits<int64_t>::max()));
  int64_t shared = !works || !is_within(access, exclusive_);
  comm_.all_max(std::span(&shared, 1));
  if (shared != 0) exclusive_ = {};
  return shared == 0;
}

bool Collective::is_within_exclusive_extent(const FileAccess& access) const {
  return is_within(access, exclusive_) && !has_gaps(access);
}

// Collective. Returns true if the requests of the tasks are worth merging.
bool Collective::shares_requests(const FileAccess& access, const CallSummary& summary,
                                 const CollectiveOptions& how, bool writes) {
  const int64_t whole = summary.high - summary.low;
  const int64_t range = hosts_ ? std::min(whole, summary.lengths) : touched(summary, how.block);
  const bool always = how.exchange == CollectiveOptions::Buffering::enabled;
  // No task knows how the ranges of several hosts overlap, so their total length serves as an estimate.
  const bool separate =
      hosts_ ? !summary.gaps && summary.lengths <= whole + whole / 2 : summary.lengths <= range + range / 2;
  if (writes && how.unit > 0) {
    if (whole / pool_->shape().window >= max_windows) return false;
    return always || !separate || !find_exclusive_extent(access, how.unit);
  }
  if (always) return range / very_sparse <= std::max(summary.bytes, pool_->shape().window);
  if (separate) return false;
  const int64_t gaps = std::max<int64_t>(range - summary.bytes, 0);
  return range / sparse <= summary.bytes || gaps / summary.pieces < gap_worth_a_request;
}

// Collective. Publishes the tasks' earlier writes, so that none of them reaches the server after the data of
// the current transfer.
void Collective::publish(File& file) {
  agree(comm_, attempt([&] { file.traits().visibility->publish(); }));
  file.traits().visibility->note_all_published();
}

int64_t Collective::transfer(File& file, const FileAccess& access, const CollectiveOptions& how, bool writes,
                             std::optional<Error> problem, IoCounters& counters) {
  SHEAF_DEBUG_ASSERT(problem || access.bytes() == 0 || access.filetype->is_ordered(!writes));
  // A task that needs no exchange transfers ahead of the reduction, which reports its failure to all tasks.
  int64_t done = 0;
  const auto independently = [&] { done = independent_io(file, access, how.independent, writes, counters); };
  const IoPath io_path = problem ? IoPath::collective : way_of(file, access, how, writes);
  if (io_path == IoPath::independent) problem = attempt(independently);
  const FileAccess rest = io_path == IoPath::collective ? access : FileAccess{};
  CallSummary summary = allreduce_summary(file, access, rest, how, writes, problem,
                                          io_path == IoPath::independent_after_publish);
  if (!writes && summary.changed && (summary.waits || summary.low < summary.high)) publish(file);
  if (summary.waits)
    agree(comm_, attempt([&] {
            if (io_path == IoPath::independent_after_publish) independently();
          }));
  if (summary.low == summary.high) return done;
  // Window memory is allocated by the first call that needs it; programs with only independent transfers
  // never allocate it. A new pool does not hold the tasks' ranges yet, so the tasks repeat the reduction.
  const auto again = [&] { summary = allreduce_summary(file, access, rest, how, writes, problem, false); };
  if (find_window_pool(file, how, summary)) {
    again();
    if (summary.alone) {
      drop_window_pool();
      hosts_.reset();
      make_window_pools(how, summary.high - summary.low, false);
      again();
    }
  }
  if (!shares_requests(access, summary, how, writes)) {
    agree(comm_, attempt([&] {
            if (rest.bytes() > 0) independently();
          }));
    return done;
  }
  if (writes && summary.changed) publish(file);
  ++counters.exchange_calls;
  ++(summary.repeated ? counters.plans_reused : counters.plans_made);
  const int64_t exchanged = hosts_ ? between_hosts(file, rest, how, writes, summary, counters)
                                   : on_one_host(file, rest, how, writes, summary, counters);
  return io_path == IoPath::collective ? exchanged : done;
}

void Collective::write(File& file, const FileAccess& access, const CollectiveOptions& how,
                       std::optional<Error> problem, IoCounters& counters) {
  transfer(file, access, how, true, std::move(problem), counters);
}

int64_t Collective::read(File& file, const FileAccess& access, const CollectiveOptions& how,
                         std::optional<Error> problem, IoCounters& counters) {
  return transfer(file, access, how, false, std::move(problem), counters);
}

}  // namespace sheaf::exchange
