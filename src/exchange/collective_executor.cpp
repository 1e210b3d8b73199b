#include "exchange/collective_executor.hpp"

#include <algorithm>
#include <numeric>
#include <thread>
#include <utility>

#include "base/assert.hpp"
#include "base/report/trace.hpp"
#include "comm/helpers.hpp"
#include "comm/reduce.hpp"
#include "exchange/pieces/coverage.hpp"

namespace sheaf::exchange {

namespace {

// Returns the number of hardware threads. Caches it, because the C library reads a kernel file for each
// query.
int64_t hardware_threads() {
  static const int64_t threads = std::thread::hardware_concurrency();
  return threads;
}

WindowPoolShape shape_for(const CollectiveOptions& how, const HostMap& hosts, int64_t range) {
  return shape_between_hosts(how, hosts.aggregators(), hosts.channels(), range);
}

HostMap::Rules rules_of(const CollectiveOptions& how, bool shared) {
  return {how.aggregators > 0 ? how.aggregators : how.stripes, how.per_host, shared, how.switches.psets};
}

// Collective. Combines the facts of all tasks. Gathers them in two calls if `method` is allgather: first the
// start of the range, then its end with the other facts.
void combine(Comm& comm, ReductionMethod method, CallFacts& facts) {
  constexpr size_t begin_words = 2;  // CallFacts::failed and CallFacts::low
  as_words(facts, [&](std::span<int64_t> all) {
    if (method != ReductionMethod::allgather) return comm.reduce_by(method, Reduction::max, all);
    comm.reduce_by(method, Reduction::max, all.first(begin_words));
    comm.reduce_by(method, Reduction::max, all.subspan(begin_words));
  });
}

ReadSource source_of(const CollectiveFile& file, const FileAccess& access) {
  if (!file.across || access.bytes() <= 0) return ReadSource::shared_cache;
  return !file.holds && file.across->keeps(access.low(), access.high()) ? ReadSource::own_writes
                                                                        : ReadSource::other_hosts;
}

// Drains the writes that tasks hold. Collective. Returns the target of the rest of the call.
CollectiveFile drained(CollectiveFile target) {
  SHEAF_ASSERT(target.drain);
  target.drain();
  target.holds = false;
  return target;
}

}  // namespace

void CollectiveExecutor::find_hosts(const CollectiveOptions& how) {
  hosts_ = HostMap::find(comm_, rules_of(how, how.switches.shared));
}

CollectiveExecutor::Chosen CollectiveExecutor::chosen(File& file, const CollectiveOptions& how) const {
  if (hosts_)
    return {hosts_->aggregators(), shape_for(how, *hosts_, unlimited).window, hosts_->aggregator_tasks()};
  std::vector<int64_t> tasks(static_cast<size_t>(comm_.size()));
  std::iota(tasks.begin(), tasks.end(), int64_t{0});
  return {planner_.tokens(how, hardware_threads()),
          shape_on_one_host(how, file.traits().dear_requests).window, std::move(tasks)};
}

void CollectiveExecutor::drop_window_pool() {
  channel_.reset();
  pool_.reset();
  call_ = 0;
  next_ = 0;
}

// Collective. Returns true if the window pool has been replaced.
bool CollectiveExecutor::replace_window_pool(const LocalCall& call, const CallSummary& summary) {
  const bool too_small =
      pool_ && hosts_ && shape_for(call.how, *hosts_, summary.range()).window > pool_->shape().window;
  if (pool_ && !summary.facts.other_hosts && !too_small) return false;
  drop_window_pool();
  if (summary.facts.other_hosts) hosts_.reset();
  planner_.forget();
  if (call.how.switches.shared && !hosts_ && comm_.node_count() == 1)
    pool_ = ShmWindowPool::make(comm_, shape_on_one_host(call.how, call.target.file.traits().dear_requests));
  if (!pool_) make_window_pools(call.how, summary.range(), call.how.switches.shared);
  return true;
}

// Collective. Creates the window pool and, on aggregators, the exchange between hosts. If `shared` is false,
// because tasks of some host share no memory, every task counts as a host.
void CollectiveExecutor::make_window_pools(const CollectiveOptions& how, int64_t range, bool shared) {
  if (!hosts_) {
    hosts_ = HostMap::find(comm_, rules_of(how, shared));
    written_ = {};
  }
  pool_ = ShmWindowPool::make(hosts_->host(), shape_for(how, *hosts_, range));
  if (hosts_->channel_number() >= 0) channel_ = std::make_unique<HostExchange>(*hosts_);
}

// Adds the values of this task to the sums and ranges of the current call. Task 0 of the host clears the sums
// of the next call, before any task can enter that call: all tasks have left the call that used them before.
void CollectiveExecutor::post_contribution(const LocalCall& call, uint64_t coverage) {
  SHEAF_ASSERT(pool_ && call_ >= 0 && call_ < 3);
  Comm& host = hosts_ ? hosts_->host() : comm_;
  ShmWindowPool::CallSums& sums = pool_->sums(call_);
  ShmWindowPool::TaskExtent& range = pool_->ranges(call_)[static_cast<size_t>(host.rank())];
  if (host.rank() == 0) pool_->sums((call_ + 1) % 3).clear();
  const FileAccess& access = call.rest;
  const bool works = access.bytes() > 0;
  range.low.store(works ? access.low() : 0);
  range.high.store(works ? access.high() : 0);
  if (!works) return;
  sums.bytes.fetch_add(access.bytes());
  sums.pieces.fetch_add(access.pieces());
  sums.lengths.fetch_add(length_in_units(access, call.how.block));
  sums.coverage.fetch_add(coverage);
}

CallSummary CollectiveExecutor::summarize(const LocalCall& call, CallFacts facts, uint64_t coverage) {
  facts.failed = call.problem.has_value();
  facts.threads = hardware_threads();
  facts.other_hosts = hosts_ && !(hosts_->rules() == rules_of(call.how, hosts_->rules().shared));
  facts.changed = call.target.across && call.target.across->changed();
  facts.held = call.target.holds;
  facts.alone = hosts_ && !pool_;
  if (pool_) post_contribution(call, coverage);
  {
    const TraceEvent event("reduce summary");
    combine(comm_, call.how.ranges_method(), facts);
  }
  CallSummary summary = planner_.summarize(facts);
  summary.call = call_;
  // Advances even if the call fails, because the next call must not use these sums.
  if (pool_) call_ = (call_ + 1) % 3;
  if (facts.failed) agree(comm_, call.problem);
  if (!pool_ || hosts_) return summary;
  const ShmWindowPool::CallSums& sums = pool_->sums(summary.call);
  summary.bytes = sums.bytes.load();
  summary.pieces = std::max<int64_t>(sums.pieces.load(), 1);
  summary.lengths = sums.lengths.load();
  return summary;
}

CallSummary CollectiveExecutor::summarize_write(const LocalCall& call) {
  CallFacts facts = planner_.begin(call.rest, call.how);
  facts.outside = call.access.bytes() > 0 && !planner_.keeps_exclusive(call.access);
  const bool sums_coverage = pool_ && !hosts_;
  CallSummary summary =
      summarize(call, facts, sums_coverage && call.rest.bytes() > 0 ? planner_.coverage_of(call.rest) : 0);
  summary.tiled =
      sums_coverage && !summary.is_empty() &&
      pool_->sums(summary.call).coverage.load() == coverage_of_range(summary.facts.low, summary.facts.high);
  return summary;
}

CallSummary CollectiveExecutor::summarize_read(const LocalCall& call, bool waits) {
  CallFacts facts = planner_.begin(call.rest, call.how);
  facts.waits = waits;
  return summarize(call, facts, 0);
}

template <class Summarize>
void CollectiveExecutor::find_window_pool(const LocalCall& call, CallSummary& summary,
                                          Summarize summarize_again) {
  if (!replace_window_pool(call, summary)) return;
  summary = summarize_again();
  if (!summary.facts.alone) return;
  drop_window_pool();
  hosts_.reset();
  make_window_pools(call.how, summary.range(), false);
  summary = summarize_again();
}

PoolFacts CollectiveExecutor::pool_facts(const LocalCall& call, const CallSummary& summary) const {
  if (hosts_) return {true, pool_->shape().window};
  std::vector<Extent> ranges;
  for (const ShmWindowPool::TaskExtent& range : pool_->ranges(summary.call)) {
    const Extent extent = Extent::between(range.low.load(), range.high.load());
    if (extent.length > 0) ranges.push_back(extent);
  }
  return {false, pool_->shape().window, touched_bytes(std::move(ranges), call.how.block)};
}

// Collective. Makes each task's exclusive extent begin with its first unit and end before the first unit of
// the following task. If two tasks would write one unit, returns false and leaves all tasks without an
// exclusive extent.
bool CollectiveExecutor::find_exclusive_extent(const FileAccess& access, int64_t unit) {
  const int64_t begin = access.bytes() > 0 ? access.low() - access.low() % unit : 0;
  const int64_t end = shift(comm_, begin, Neighbour::following, unlimited);
  const bool shared = any_task(comm_, !planner_.set_exclusive(access, Extent::between(begin, end)));
  if (shared) planner_.end_exclusive();
  return !shared;
}

// Collective. Publishes the earlier independent writes of all tasks, so that the server receives them before
// the data of this transfer.
void CollectiveExecutor::publish(NonCoherentFile& file) {
  const TraceEvent event("publish on all tasks");
  agree(comm_, attempt([&] { file.publish(); }));
  file.note_all_published();
}

void CollectiveExecutor::count_exchange(const LocalCall& call, const CallSummary& summary) const {
  const int64_t aggregators =
      hosts_ ? hosts_->aggregators() : planner_.tokens(call.how, summary.facts.threads);
  ++call.counters.exchange_calls;
  ++(summary.facts.differs ? call.counters.plans_made : call.counters.plans_reused);
  call.counters.aggregators = std::max(call.counters.aggregators, aggregators);
}

void CollectiveExecutor::write(CollectiveFile target, const FileAccess& access, const CollectiveOptions& how,
                               std::optional<Error> problem, IoCounters& counters) {
  trace_task(comm_.rank());
  const TraceEvent event("collective write", access.bytes() > 0 ? access.low() : 0, access.bytes());
  // A task that needs no exchange transfers before the reduction, unless it holds earlier writes. The
  // reduction reports its failure to all tasks.
  const auto independently = [&] { independent_write(target.file, access, how.independent, counters); };
  const bool shares = !problem && planner_.write_path(access, how) == IoPath::collective;
  const bool is_done = !problem && !shares && !target.holds;
  if (is_done) problem = attempt(independently);
  const LocalCall call{target, access, how, counters, shares ? access : FileAccess{}, std::move(problem)};
  CallSummary summary = summarize_write(call);
  if (summary.facts.held)
    return write(drained(target), is_done ? FileAccess{} : access, how, std::nullopt, counters);
  if (summary.is_empty()) return;
  find_window_pool(call, summary, [&] { return summarize_write(call); });
  const Merging merging = planner_.merge_writes(summary, how, pool_facts(call, summary));
  if (merging == Merging::none ||
      (merging == Merging::unless_exclusive && find_exclusive_extent(access, how.unit)))
    return agree(comm_, attempt([&] {
                   if (shares) independently();
                 }));
  if (summary.facts.changed) publish(*target.across);
  count_exchange(call, summary);
  hosts_ ? write_between_hosts(call, summary) : write_on_one_host(call, summary);
}

int64_t CollectiveExecutor::read(CollectiveFile target, const FileAccess& access,
                                 const CollectiveOptions& how, std::optional<Error> problem,
                                 IoCounters& counters) {
  trace_task(comm_.rank());
  const TraceEvent event("collective read", access.bytes() > 0 ? access.low() : 0, access.bytes());
  int64_t done = 0;
  const auto independently = [&] { done = independent_read(target.file, access, how.independent, counters); };
  IoPath path = problem ? IoPath::collective : planner_.read_path(access, how, source_of(target, access));
  if (path == IoPath::independent && target.holds) path = IoPath::independent_after_publish;
  if (path == IoPath::independent) problem = attempt(independently);
  const bool shares = path == IoPath::collective && !problem,
             waits = path == IoPath::independent_after_publish;
  const LocalCall call{target, access, how, counters, shares ? access : FileAccess{}, std::move(problem)};
  CallSummary summary = summarize_read(call, waits);
  if (summary.facts.held && (summary.facts.waits || !summary.is_empty())) {
    const bool is_done = path == IoPath::independent;
    const int64_t got = read(drained(target), is_done ? FileAccess{} : access, how, std::nullopt, counters);
    return is_done ? done : got;
  }
  if (summary.facts.changed && (summary.facts.waits || !summary.is_empty())) publish(*target.across);
  if (summary.facts.waits)
    agree(comm_, attempt([&] {
            if (waits) independently();
          }));
  if (summary.is_empty()) return done;
  find_window_pool(call, summary, [&] { return summarize_read(call, false); });
  if (planner_.merge_reads(summary, how, pool_facts(call, summary)) == Merging::none) {
    agree(comm_, attempt([&] {
            if (shares) independently();
          }));
    return done;
  }
  count_exchange(call, summary);
  const int64_t exchanged = hosts_ ? read_between_hosts(call, summary) : read_on_one_host(call, summary);
  return shares ? exchanged : done;
}

}  // namespace sheaf::exchange
