#include "exchange/collective.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <thread>
#include <utility>

#include "base/byte_order.hpp"
#include "base/checked.hpp"
#include "comm/agree.hpp"
#include "exchange/coverage.hpp"
#include "exchange/staged.hpp"
#include "exchange/two_phase.hpp"

namespace sheaf::exchange {

namespace {

constexpr int64_t none = std::numeric_limits<int64_t>::min();

constexpr int64_t usual_window = 256 << 10;
constexpr int64_t largest_window = 8 << 20;
constexpr int slots = 16;  // a power of two

// Pieces from this size on are transferred by those who have them: a request of their own costs less than a copy more.
constexpr int64_t large_write = 32 << 10;
constexpr int64_t large_read = 16 << 10;
// Exchanging pays where the tasks together want this part of the range, or gaps are shorter than a request is worth.
constexpr int64_t sparse = 8;
constexpr int64_t worth_a_request = 4 << 10;

// Size of a window: whole blocks.
int64_t window_size(const Together& how) {
  const int64_t wanted = how.buffer > 0 ? std::min(how.buffer, usual_window) : usual_window;
  if (!how.aligned || how.block <= 1) return wanted;
  if (how.block > wanted) return std::min(how.block, largest_window);
  return wanted - wanted % how.block;
}

layout::AggregatorRules rules_of(const Together& how) {
  layout::AggregatorRules rules;
  rules.wanted = how.aggregators > 0 ? how.aggregators : how.stripes;
  rules.per_node = std::max<int64_t>(how.per_node, 0);
  if (how.on_nodes) rules.on_nodes = *how.on_nodes;
  rules.by_node = how.pset;
  return rules;
}

int64_t saturated_product(int64_t a, int64_t b) {
  return checked_mul(a, b).value_or(std::numeric_limits<int64_t>::max());
}

// Holds a range of the file while `part` runs.
template <class Part>
void under_lock(File& file, const Access& access, bool locks, bool exclusive, Part part) {
  if (!locks || access.bytes() <= 0) return part();
  const int64_t low = access.low();
  const int64_t length = access.high() - low;
  file.lock(low, length, exclusive);
  const auto problem = attempt(part);
  file.unlock(low, length);
  if (problem) throw *problem;
}

// The task that has the last byte of a range writes it. Then the file has its length, and those who write windows beside others
// need not wait for them to make it longer (storage/mapped_write.hpp).
void write_end(File& file, const Access& access, int64_t high) {
  if (access.bytes() <= 0 || access.high() != high || file.status().size >= high) return;
  std::byte last{};
  pack(access, access.to - 1, access.to, &last);
  file.write_at({&last, 1}, high - 1);
}

}  // namespace

// What all tasks know after the reduction of a call.
struct Collective::Facts {
  int64_t low = 0;
  int64_t high = 0;
  bool repeated = false;   // every task wants what it wanted before
  int64_t threads = 1;     // that can run at once
  int64_t bytes = 0;       // of all tasks; about, unless they share memory
  int64_t pieces = 0;
  bool tiled = false;
  uint32_t parity = 0;
};

// What this task wanted in the last call, and what came of it if that can be used again.
struct Collective::Plan {
  bool writes = false;
  uint64_t filetype = 0;
  int64_t displacement = 0;
  int64_t from = 0;
  int64_t to = 0;
  int64_t window = 0;
  int64_t aggregators = 0;
  bool by_memory = false;
  uint64_t coverage = 0;
  layout::TypeMap map;  // the file type
  Facts facts;
  Leg leg;
  bool has_leg = false;

  bool wants_the_same(const Plan& other) const {
    return writes == other.writes && filetype == other.filetype && displacement == other.displacement && from == other.from &&
           to == other.to && window == other.window && aggregators == other.aggregators && by_memory == other.by_memory;
  }
};

Collective::Collective(Comm& comm) : comm_(comm), plan_(std::make_unique<Plan>()) {}
Collective::~Collective() = default;

bool Collective::make_stage(const Together& how) {
  if (looked_for_memory_ || !how.shared || comm_.size() == 1) return false;
  looked_for_memory_ = true;
  if (auto stage = Stage::make(comm_, window_size(how), slots)) staged_ = std::make_unique<Staged>(comm_, std::move(stage));
  return staged_ != nullptr;
}

bool Collective::uses_memory(const Together& how) const { return staged_ && how.shared; }

// Element-wise, over the tasks; else, for measuring, what everybody brings goes to everybody.
void Collective::maximum(std::span<int64_t> values, bool reduce) {
  if (reduce) return comm_.all_max(values);
  Gathered all = comm_.gather(std::as_bytes(values), 0);
  all.bytes.resize(values.size_bytes() * static_cast<size_t>(comm_.size()));
  comm_.broadcast(all.bytes, 0);
  for (size_t at = 0; at < all.bytes.size(); at += values.size_bytes())
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = std::max(values[i], load<int64_t>(all.bytes.data() + at + i * sizeof(int64_t), native_order));
}

Collective::Plan Collective::wish(const Access& access, const Together& how, bool writes) const {
  Plan mine;
  mine.writes = writes;
  if (access.bytes() > 0) mine.map = *access.filetype;
  mine.filetype = access.bytes() > 0 ? access.filetype->fingerprint() : 0;
  mine.displacement = access.displacement;
  mine.from = access.from;
  mine.to = access.to;
  mine.window = window_size(how);
  mine.aggregators = how.aggregators;
  mine.by_memory = uses_memory(how);
  return mine;
}

Collective::Facts Collective::meet(const Access& access, const Together& how, bool writes, const std::optional<Error>& problem) {
  Plan mine = wish(access, how, writes);
  const bool same = how.reuse && plan_->has_leg && plan_->wants_the_same(mine);
  const uint32_t parity = calls_++ % 2;
  const bool works = access.bytes() > 0 && !problem;
  Stage::Sums* const sums = uses_memory(how) ? &staged_->stage().head().sums[parity] : nullptr;
  if (works && sums) {
    mine.coverage = same ? plan_->coverage : coverage(access, access.from, access.to);
    sums->coverage.fetch_add(mine.coverage, std::memory_order_relaxed);
    sums->bytes.fetch_add(access.bytes(), std::memory_order_relaxed);
    sums->pieces.fetch_add(access.pieces(), std::memory_order_relaxed);
  }
  std::array<int64_t, 7> values{problem.has_value(),
                                works ? -access.low() : none,
                                works ? access.high() : none,
                                !same,
                                static_cast<int64_t>(std::thread::hardware_concurrency()),
                                works ? access.bytes() : 0,
                                works ? access.pieces() : 0};
  maximum(values, how.allreduce);
  if (values[0] != 0) {
    plan_->has_leg = false;
    agree(comm_, problem);
  }
  Facts facts;
  facts.low = values[1] == none ? 0 : -values[1];
  facts.high = values[2] == none ? 0 : values[2];
  facts.repeated = values[3] == 0;
  facts.threads = std::max<int64_t>(values[4], 1);
  facts.parity = parity;
  facts.bytes = saturated_product(values[5], comm_.size());
  facts.pieces = saturated_product(values[6], comm_.size());
  if (sums) {
    facts.bytes = sums->bytes.load(std::memory_order_relaxed);
    facts.pieces = sums->pieces.load(std::memory_order_relaxed);
    facts.tiled = facts.low < facts.high &&
                  sums->coverage.load(std::memory_order_relaxed) == coverage_of_range(facts.low, facts.high);
    // Those of the next call: nobody looks at them any more, nor yet.
    if (comm_.rank() == 0) {
      Stage::Sums& other = staged_->stage().head().sums[1 - parity];
      other.coverage.store(0, std::memory_order_relaxed);
      other.bytes.store(0, std::memory_order_relaxed);
      other.pieces.store(0, std::memory_order_relaxed);
      other.failed.store(0, std::memory_order_relaxed);
    }
  }
  if (!facts.repeated) {
    *plan_ = std::move(mine);
    plan_->facts = facts;
  }
  return facts;
}

// Whether the task carries out its part alone, whatever the others do.
bool Collective::goes_alone(const Access& access, const Together& how, bool writes) {
  if (access.bytes() <= 0) return false;
  if (how.serial || how.exchange == Together::Way::never || !access.filetype->is_ordered()) return true;
  if (how.exchange == Together::Way::always || !how.direct) return comm_.size() == 1;
  return comm_.size() == 1 || access.bytes() / access.pieces() >= (writes ? large_write : large_read);
}

bool Collective::exchanges(const Facts& facts, const Together& how) const {
  if (how.exchange == Together::Way::always || !how.direct) return true;
  const int64_t range = facts.high - facts.low;
  const int64_t gaps = std::max<int64_t>(range - facts.bytes, 0);
  return range / sparse <= facts.bytes || gaps / facts.pieces < worth_a_request;
}

int64_t Collective::alone(File& file, const Access& access, const Together& how, bool writes, Tally& tally) {
  int64_t done = 0;
  under_lock(file, access, how.serial, writes, [&] {
    Alone alone = how.alone;
    alone.locked = how.serial;
    if (writes) {
      write_alone(file, access, alone, tally);
    } else {
      done = read_alone(file, access, alone, tally);
    }
  });
  return done;
}

int64_t Collective::staged(File& file, const Access& access, const Together& how, bool writes, const Facts& facts, Tally& tally) {
  ++tally.exchange_calls;
  SharedWord& failed = staged_->stage().head().sums[facts.parity].failed;
  int64_t domains = std::min<int64_t>(comm_.size(), how.aggregators > 0 ? how.aggregators : facts.threads);
  if (how.per_node >= 0) domains = std::min(domains, std::max<int64_t>(how.per_node, 1));
  const int64_t writers = how.aggregators > 0 ? domains : std::min<int64_t>(domains, file.writers_at_once());
  const int64_t size = std::min(window_size(how), staged_->stage().window());
  std::optional<Error> problem;
  int64_t done = access.to;
  const auto go = [&](const Leg& leg) {
    tally.aggregators = std::max(tally.aggregators, std::min<int64_t>(domains, std::ssize(leg.order)));
    int64_t here = access.to;
    const auto found = writes ? staged_->write(file, access, leg, how.alone.sieving, failed, tally)
                              : staged_->read(file, access, leg, how.overlap, failed, here, tally);
    if (found && !problem) problem = found;
    done = std::min(done, here);
  };
  // All of it will be written: in one piece, which windows one by one would not be.
  if (writes && facts.tiled && comm_.rank() == 0 && facts.high - facts.low >= worth_room) file.set_aside(facts.low, facts.high - facts.low);
  if (writes && facts.tiled && writers > 1 && facts.high - facts.low > size) {
    problem = attempt([&] { write_end(file, access, facts.high); });
    if (problem) failed.store(1);
  }
  const Windows all = Windows::over(facts.low, facts.high, size, how.aligned);
  if (facts.repeated) {
    ++tally.plans_reused;
    go(plan_->leg);
  } else if (facts.tiled || all.count() <= Stage::table_entries) {
    ++tally.plans_made;
    Leg leg;
    if (facts.tiled) {
      leg.windows = all;
      leg.order = in_rounds_of(all.count(), domains);
    } else {
      leg = staged_->find_gaps(access, all, domains);
    }
    leg.aggregators = writers;
    plan_->leg = std::move(leg);
    plan_->has_leg = true;
    go(plan_->leg);
  } else {
    ++tally.plans_made;
    for (int64_t low = facts.low; low < facts.high;) {
      const int64_t high = std::min(facts.high, Windows::over(low, facts.high, size, how.aligned).end(Stage::table_entries - 1));
      Leg leg = staged_->find_gaps(access, Windows::over(low, high, size, how.aligned), domains);
      leg.aggregators = writers;
      go(leg);
      low = high;
      if (low < facts.high) comm_.barrier();  // all are done with the table of this leg
    }
  }
  if (failed.load() == 0) return done - access.from;
  plan_->has_leg = false;
  agree(comm_, problem);
  return 0;
}

int64_t Collective::by_messages(File& file, const Access& access, const Together& how, bool writes, const Facts& facts,
                                Tally& tally) {
  ++tally.exchange_calls;
  if (!messages_) messages_ = std::make_unique<TwoPhase>(comm_);
  if (facts.repeated) {
    ++tally.plans_reused;
  } else {
    ++tally.plans_made;
    messages_->plan_domains(access, Windows::over(facts.low, facts.high, window_size(how), how.aligned),
                         rules_of(how));
  }
  tally.aggregators = std::max(tally.aggregators, messages_->aggregators());
  int64_t done = access.to;
  const auto problem = writes ? messages_->write(file, access, false, how.alone.sieving, {how.overlap, how.alltoall}, tally)
                              : messages_->read(file, access, false, {how.overlap, how.alltoall}, done, tally);
  plan_->has_leg = false;
  agree(comm_, problem);
  plan_->has_leg = true;
  repeats_ = facts.repeated;
  return done - access.from;
}

// The call before repeated the one before it: data go by the same plan at once, and the reduction at the end tells whether
// that was what everybody wanted. Nothing if not: then all begin anew.
std::optional<int64_t> Collective::at_once(File& file, const Access& access, const Together& how, bool writes,
                                           std::optional<Error> problem, Tally& tally) {
  if (!repeats_ || !plan_->has_leg || plan_->writes != writes || uses_memory(how) || !how.reuse) return std::nullopt;
  const bool absent = problem || !plan_->wants_the_same(wish(access, how, writes));
  Access planned = access;
  if (absent) planned = {plan_->displacement, &plan_->map, plan_->from, plan_->to, nullptr, &contiguous_bytes()};
  int64_t done = planned.to;
  const auto failed = writes ? messages_->write(file, planned, absent, how.alone.sieving, {how.overlap, how.alltoall}, tally)
                             : messages_->read(file, planned, absent, {how.overlap, how.alltoall}, done, tally);
  const bool has_leg = std::exchange(plan_->has_leg, false);
  repeats_ = false;
  int64_t anew = absent;
  agree(comm_, problem ? problem : failed, std::span(&anew, 1));
  if (anew != 0) return std::nullopt;
  plan_->has_leg = has_leg;
  repeats_ = true;
  ++tally.exchange_calls;
  ++tally.plans_reused;
  return done - planned.from;
}

int64_t Collective::transfer(File& file, const Access& access, const Together& how, bool writes, std::optional<Error> problem,
                             Tally& tally) {
  // Who need not ask the others goes ahead; the reduction then tells how that went.
  Access rest = access;
  int64_t done = 0;
  if (!problem && goes_alone(access, how, writes)) {
    problem = attempt([&] { done = alone(file, access, how, writes, tally); });
    rest = {};
  }
  if (const auto exchanged = at_once(file, rest, how, writes, problem, tally)) return rest.bytes() > 0 ? *exchanged : done;
  Facts facts = meet(rest, how, writes, problem);
  repeats_ = false;
  if (facts.low == facts.high) return done;
  // Programs whose tasks always go ahead never need the memory. Sums over the tasks are in it: they meet again.
  if (make_stage(how)) facts = meet(rest, how, writes, problem);
  if (exchanges(facts.repeated ? plan_->facts : facts, how)) {
    const int64_t exchanged = uses_memory(how) ? staged(file, rest, how, writes, facts, tally)
                                               : by_messages(file, rest, how, writes, facts, tally);
    return rest.bytes() > 0 ? exchanged : done;
  }
  agree(comm_, attempt([&] {
    if (rest.bytes() > 0) done = alone(file, rest, how, writes, tally);
  }));
  return done;
}

void Collective::write(File& file, const Access& access, const Together& how, std::optional<Error> problem, Tally& tally) {
  transfer(file, access, how, true, std::move(problem), tally);
}

int64_t Collective::read(File& file, const Access& access, const Together& how, std::optional<Error> problem, Tally& tally) {
  return transfer(file, access, how, false, std::move(problem), tally);
}

}  // namespace sheaf::exchange
