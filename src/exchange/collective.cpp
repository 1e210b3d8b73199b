#include "exchange/collective.hpp"

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

#include "base/checked.hpp"
#include "comm/agree.hpp"
#include "exchange/collective_parts.hpp"
#include "exchange/host_exchange.hpp"
#include "exchange/pieces/coverage.hpp"
#include "layout/each_piece.hpp"

namespace sheaf::exchange {

namespace {

constexpr int64_t none = std::numeric_limits<int64_t>::min();

// On one host, whose page cache puts requests together; a power of two of slots.
constexpr int64_t usual_window = 256 << 10;
constexpr int64_t dear_window = 1 << 20;
constexpr int stage_slots = 16;
// Requests to a server, and messages between hosts, cost about as much as a hundred KiB of data.
constexpr int64_t hosts_window = 4 << 20;
constexpr int64_t least_hosts_window = 64 << 10;
constexpr int64_t most_hosts_memory = 192 << 20;
constexpr int rounds_under_way = 3;  // one is filled, one travels, one is written
constexpr int64_t largest_window = 8 << 20;

// Where a page cache serves all tasks, pieces from this size on are worth a request: it costs less than a
// copy more.
constexpr int64_t large_write = 32 << 10;
constexpr int64_t large_read = 16 << 10;
// Exchanging pays where the tasks together want this part of the range, or gaps are shorter than a request is
// worth.
constexpr int64_t sparse = 8;
constexpr int64_t mean_gap_worth_a_request = 4 << 10;
// If the program wants it, this part will do.
constexpr int64_t very_sparse = 256;
// Where each unit shall have one writer, tasks exchange what is sparse, too, unless there are more windows.
constexpr int64_t most_windows = 1 << 20;

// Asked for once: the C library reads a file of the kernel for it.
int64_t hardware_threads() {
  static const int64_t threads = std::thread::hardware_concurrency();
  return threads;
}

int64_t saturated_product(int64_t a, int64_t b) {
  return checked_mul(a, b).value_or(std::numeric_limits<int64_t>::max());
}

// Whole units, or a part of one that fits into it.
int64_t window_of_units(int64_t unit, int64_t wanted) {
  if (unit <= wanted) return wanted - wanted % unit;
  while (unit > wanted && unit % 2 == 0) unit /= 2;
  return unit;
}

int64_t window_size(const Together& how, int64_t usual) {
  const int64_t wanted = how.buffer > 0 ? std::min(how.buffer, usual) : usual;
  if (how.unit > 0) return window_of_units(how.unit, wanted);
  if (how.block > wanted) return std::min(how.block, largest_window);
  return wanted - wanted % std::max<int64_t>(how.block, 1);
}

Stage::Shape shape_on_one_host(File& file, const Together& how) {
  return {window_size(how, file.traits().dear_requests ? dear_window : usual_window), stage_slots};
}

Stage::Shape shape_between_hosts(const Together& how, int64_t owners) {
  const int64_t slots = rounds_under_way * owners;
  const int64_t usual = std::clamp(most_hosts_memory / slots / least_hosts_window * least_hosts_window,
                                   least_hosts_window, hosts_window);
  return {window_size(how, usual), static_cast<int>(slots)};
}

// Every piece of the access is whole units.
bool has_whole_units(const Access& access, int64_t unit) {
  if (access.bytes() / access.pieces() < unit) return false;
  bool whole = true;
  layout::for_each_piece(
      *access.filetype, access.displacement, access.from, access.to,
      [&](int64_t offset, int64_t length) { whole = whole && offset % unit == 0 && length % unit == 0; });
  return whole;
}

// Bytes of the units that the range of an access touches.
int64_t length_in_units(const Access& access, int64_t unit) {
  return access.high() - access.low() + access.low() % unit + (unit - access.high() % unit) % unit;
}

}  // namespace

Collective::Collective(Comm& comm) : comm_(comm) {}
Collective::~Collective() = default;

void Collective::renew_memory() { Stage::renew(comm_); }

void Collective::take_up_memory(File& file, const Together& how) {
  if (how.shared && comm_.size() > 1) stage_ = Stage::take_up(comm_, shape_on_one_host(file, how));
}

bool Collective::find_hosts(File& file, const Together& how, bool anew) {
  const Hosts::Rules rules{how.aggregators > 0 ? how.aggregators : how.stripes, how.per_host, how.shared};
  if (stage_ && !anew) return false;
  lane_.reset();
  stage_.reset();
  hosts_.reset();
  next_ = 0;
  call_ = 0;
  wish_.reset();
  if (how.shared && comm_.node_count() == 1) stage_ = Stage::make(comm_, shape_on_one_host(file, how));
  if (stage_) return true;
  hosts_ = Hosts::find(comm_, rules);
  stage_ = Stage::make(hosts_->host(), shape_between_hosts(how, hosts_->owners()));
  int64_t missing = !stage_;
  comm_.all_max(std::span(&missing, 1));
  if (missing != 0) {
    hosts_ = Hosts::find(comm_, {rules.aggregators, rules.most_here, false});
    stage_ = Stage::make(hosts_->host(), shape_between_hosts(how, hosts_->owners()));
  }
  if (hosts_->my_lane() >= 0) lane_ = std::make_unique<HostExchange>(*hosts_);
  return true;
}

// The sums of a call are cleared before anybody can have come to it: all have left the last call but one,
// which they were of.
void Collective::bring(const Access& access, const Wish& wish, bool same, const Together& how) {
  Comm& host = hosts_ ? hosts_->host() : comm_;
  Stage::Sums& sums = stage_->sums(call_);
  Stage::Range& range = stage_->ranges(call_)[static_cast<size_t>(host.rank())];
  if (host.rank() == 0) {
    Stage::Sums& next = stage_->sums((call_ + 1) % 3);
    next.coverage.store(0);
    next.bytes.store(0);
    next.pieces.store(0);
    next.lengths.store(0);
    next.failed.store(0);
  }
  const bool works = access.bytes() > 0;
  range.low.store(works ? access.low() : 0);
  range.high.store(works ? access.high() : 0);
  if (!works) return;
  sums.bytes.fetch_add(access.bytes());
  sums.pieces.fetch_add(access.pieces());
  sums.lengths.fetch_add(length_in_units(access, how.block));
  if (!hosts_ && wish.writes) sums.coverage.fetch_add(same ? wish_->coverage : wish.coverage);
}

Collective::Facts Collective::meet(File& file, const Access& access, const Together& how, bool writes,
                                   const std::optional<Error>& problem, bool waits) {
  const bool works = access.bytes() > 0 && !problem;
  Wish mine = Wish::of(works ? access : Access{}, how, writes);
  const bool same = how.reuse && wish_ && wish_->is(mine);
  if (stage_ && writes && works && !hosts_)
    mine.coverage = same ? wish_->coverage : coverage(access, access.from, access.to);
  if (stage_) bring(works ? access : Access{}, mine, same, how);
  const bool other_hosts =
      hosts_ && !(hosts_->rules() == Hosts::Rules{how.aggregators > 0 ? how.aggregators : how.stripes,
                                                  how.per_host, hosts_->rules().shared});
  const Published* const apart = file.traits().apart;
  std::array<int64_t, 11> values{problem.has_value(),
                                 works ? -access.low() : none,
                                 works ? access.high() : none,
                                 !same,
                                 hardware_threads(),
                                 works ? access.bytes() : 0,
                                 works ? access.pieces() : 0,
                                 works ? length_in_units(access, std::max(how.block, how.unit)) : 0,
                                 other_hosts,
                                 apart && apart->changed(),
                                 waits};
  comm_.all_max(values);
  if (values[0] != 0) {
    wish_.reset();
    agree(comm_, problem);
  }
  Facts facts;
  facts.low = values[1] == none ? 0 : -values[1];
  facts.high = values[2] == none ? 0 : values[2];
  facts.repeated = values[3] == 0;
  facts.threads = std::max<int64_t>(values[4], 1);
  facts.bytes = saturated_product(values[5], comm_.size());
  facts.pieces = std::max<int64_t>(saturated_product(values[6], comm_.size()), 1);
  facts.lengths = saturated_product(values[7], comm_.size());
  facts.other_hosts = values[8] != 0;
  facts.changed = values[9] != 0;
  facts.waits = values[10] != 0;
  facts.call = call_;
  if (stage_) call_ = (call_ + 1) % 3;
  if (stage_ && !hosts_) {
    const Stage::Sums& sums = stage_->sums(facts.call);
    facts.bytes = sums.bytes.load();
    facts.pieces = std::max<int64_t>(sums.pieces.load(), 1);
    facts.lengths = sums.lengths.load();
    facts.tiled =
        writes && facts.low < facts.high && sums.coverage.load() == coverage_of_range(facts.low, facts.high);
  }
  if (!facts.repeated) {
    wish_ = std::make_unique<Wish>(mine);
    planned_ = false;
  }
  return facts;
}

Collective::Going Collective::way_of(File& file, const Access& access, const Together& how,
                                     bool writes) const {
  if (access.bytes() <= 0) return Going::together;
  const Published* const others = writes ? nullptr : file.traits().apart;
  if (how.serial || (others && others->keeps(access.low(), access.high()))) return Going::ahead;
  if (how.exchange == Together::Way::never || !access.filetype->is_ordered() || comm_.size() == 1)
    return others ? Going::when_published : Going::ahead;
  if (how.exchange == Together::Way::always) return Going::together;
  const bool large = how.unit > 0 ? writes && has_whole_units(access, how.unit)
                                  : access.bytes() / access.pieces() >= (writes ? large_write : large_read);
  return large ? Going::ahead : Going::together;
}

// Whether requests are worth being put together.
bool Collective::shares_requests(const Facts& facts, const Together& how, bool writes) const {
  const int64_t range = facts.high - facts.low;
  if (writes && how.unit > 0) return range / stage_->shape().window < most_windows;
  if (how.exchange == Together::Way::always)
    return range / very_sparse <= std::max(facts.bytes, stage_->shape().window);
  if (facts.lengths <= range + range / 2) return false;
  const int64_t gaps = std::max<int64_t>(range - facts.bytes, 0);
  return range / sparse <= facts.bytes || gaps / facts.pieces < mean_gap_worth_a_request;
}

// Nothing that a task has written before reaches the server after what is transferred now.
void Collective::publish(File& file) {
  agree(comm_, attempt([&] { file.sync(); }));
  file.traits().apart->published();
}

int64_t Collective::transfer(File& file, const Access& access, const Together& how, bool writes,
                             std::optional<Error> problem, Tally& tally) {
  // Who need not ask the others goes ahead; the reduction then tells how that went.
  int64_t done = 0;
  const auto by_itself = [&] { done = alone(file, access, how, writes, tally); };
  const Going going = problem ? Going::together : way_of(file, access, how, writes);
  if (going == Going::ahead) problem = attempt(by_itself);
  const Access rest = going == Going::together ? access : Access{};
  Facts facts = meet(file, rest, how, writes, problem, going == Going::when_published);
  if (!writes && facts.changed && (facts.waits || facts.low < facts.high)) publish(file);
  if (facts.waits)
    agree(comm_, attempt([&] {
            if (going == Going::when_published) by_itself();
          }));
  if (facts.low == facts.high) return done;
  // Programs whose tasks always go alone never need the memory. Ranges of tasks are in it: they meet again.
  if (find_hosts(file, how, facts.other_hosts)) facts = meet(file, rest, how, writes, problem, false);
  if (!shares_requests(facts, how, writes)) {
    agree(comm_, attempt([&] {
            if (rest.bytes() > 0) by_itself();
          }));
    return done;
  }
  if (writes && facts.changed) publish(file);
  ++tally.exchange_calls;
  ++(facts.repeated ? tally.plans_reused : tally.plans_made);
  const int64_t exchanged = hosts_ ? between_hosts(file, rest, how, writes, facts, tally)
                                   : on_one_host(file, rest, how, writes, facts, tally);
  return going == Going::together ? exchanged : done;
}

void Collective::write(File& file, const Access& access, const Together& how, std::optional<Error> problem,
                       Tally& tally) {
  transfer(file, access, how, true, std::move(problem), tally);
}

int64_t Collective::read(File& file, const Access& access, const Together& how, std::optional<Error> problem,
                         Tally& tally) {
  return transfer(file, access, how, false, std::move(problem), tally);
}

}  // namespace sheaf::exchange
