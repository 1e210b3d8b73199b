#include "exchange/collective.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <thread>
#include <utility>

#include "base/byte_order.hpp"
#include "comm/agree.hpp"
#include "exchange/collective_parts.hpp"
#include "exchange/coverage.hpp"
#include "exchange/in_place.hpp"
#include "exchange/two_phase.hpp"

namespace sheaf::exchange {

namespace {

constexpr int64_t none = std::numeric_limits<int64_t>::min();

constexpr int64_t usual_window = 256 << 10;
constexpr int64_t largest_window = 8 << 20;
constexpr int stage_slots = 16;  // a power of two

// Pieces from this size on are read by those who want them, as are those that are written (large_write).
constexpr int64_t large_read = 16 << 10;
// From this size on they may wait for others first.
constexpr int64_t worth_waiting = 64 << 10;
// Exchanging pays where the tasks together want this part of the range, or gaps are shorter than a request is worth.
constexpr int64_t sparse = 8;
constexpr int64_t mean_gap_worth_a_request = 4 << 10;
// Where each unit shall have one writer, tasks exchange what is sparse, too, unless there are more windows: each is a round.
constexpr int64_t most_windows_of_units = 1 << 20;

// Asked for once: the C library reads a file of the kernel for it.
int64_t hardware_threads() {
  static const int64_t threads = std::thread::hardware_concurrency();
  return threads;
}

}  // namespace

namespace {

// Whole units, or a part of one that fits into it.
int64_t window_of_units(int64_t unit, int64_t wanted) {
  if (unit <= wanted) return wanted - wanted % unit;
  while (unit > wanted && unit % 2 == 0) unit /= 2;
  return unit;
}

// Units in which the pieces of an access lie are its own: one piece, whole units.
bool has_whole_units(const Access& access, int64_t unit) {
  const int64_t low = access.low(), high = access.high();
  return high - low == access.bytes() && low % unit == 0 && high % unit == 0;
}

}  // namespace

int64_t window_size(const Together& how) {
  const int64_t wanted = how.buffer > 0 ? std::min(how.buffer, usual_window) : usual_window;
  if (how.unit > 0) return window_of_units(how.unit, wanted);
  if (!how.aligned || how.block <= 1) return wanted;
  if (how.block > wanted) return std::min(how.block, largest_window);
  return wanted - wanted % how.block;
}

Collective::Collective(Comm& comm) : comm_(comm), plan_(std::make_unique<Plan>()) {}
Collective::~Collective() = default;

bool Collective::make_stage(const Together& how) {
  if (looked_for_memory_ || !how.shared || comm_.size() == 1) return false;
  looked_for_memory_ = true;
  use(Stage::make(comm_, window_size(how), stage_slots));
  return staged_ != nullptr;
}

void Collective::use(std::unique_ptr<Stage> stage) {
  if (!stage) return;
  looked_for_memory_ = true;
  in_place_ = std::make_unique<InPlace>(*stage, comm_.size());
  staged_ = std::make_unique<Staged>(comm_, std::move(stage));
}

void Collective::renew_memory() { Stage::renew(comm_); }

void Collective::take_up_memory(const Together& how) {
  if (how.shared) use(Stage::take_up(comm_, window_size(how), stage_slots));
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

// The sums of this call, if tasks share memory. Those of the next are cleared before anybody can have come to it: all have left the
// last call but one, which they were of.
Stage::Sums* Collective::take_sums(const Together& how) {
  if (!uses_memory(how)) return nullptr;
  Stage::Head& head = staged_->stage().head();
  Stage::Sums* const sums = &head.sums[turn_];
  turn_ = (turn_ + 1) % 3;
  if (comm_.rank() == 0) {
    Stage::Sums& next = head.sums[turn_];
    next.coverage.store(0, std::memory_order_relaxed);
    next.bytes.store(0, std::memory_order_relaxed);
    next.pieces.store(0, std::memory_order_relaxed);
    next.failed.store(0, std::memory_order_relaxed);
  }
  return sums;
}

// What a task brings to the reduction of a call; meet() takes it apart again.
Collective::Reduction Collective::brought(const Part& part, bool same, bool leaves) {
  const Access& access = part.access;
  const bool works = part.works();
  return {part.problem.has_value(),
          works ? -access.low() : none,
          works ? access.high() : none,
          !same,
          hardware_threads(),
          works ? access.bytes() : 0,
          works ? access.pieces() : 0,
          part.large,
          !part.places,
          -part.room,
          leaves};
}

Collective::Facts Collective::meet(const Part& part, const Together& how) {
  const Access& access = part.access;
  Plan mine = wish(access, how, part.writes);
  const bool same = how.reuse && plan_->has_leg && plan_->wants_the_same(mine);
  Stage::Sums* const sums = take_sums(how);
  const bool works = part.works();
  if (works && sums) {
    mine.coverage = same ? plan_->coverage : coverage(access, access.from, access.to);
    sums->coverage.fetch_add(mine.coverage, std::memory_order_relaxed);
    sums->bytes.fetch_add(access.bytes(), std::memory_order_relaxed);
    sums->pieces.fetch_add(access.pieces(), std::memory_order_relaxed);
  }
  Reduction values = brought(part, same, false);
  maximum(values, how.allreduce);
  Facts facts;
  facts.some_left = values[10] != 0;
  if (values[0] != 0) {
    plan_->has_leg = false;
    failed_ = facts.some_left;
    if (!failed_) agree(comm_, part.problem);
  }
  facts.low = values[1] == none ? 0 : -values[1];
  facts.high = values[2] == none ? 0 : values[2];
  facts.repeated = values[3] == 0;
  facts.threads = std::max<int64_t>(values[4], 1);
  facts.large = values[7] != 0;
  facts.places = values[8] == 0;
  facts.room = -values[9];
  facts.bytes = saturated_product(values[5], comm_.size());
  facts.pieces = saturated_product(values[6], comm_.size());
  facts.sums = sums;
  if (sums) {
    facts.bytes = sums->bytes.load(std::memory_order_relaxed);
    facts.pieces = sums->pieces.load(std::memory_order_relaxed);
    facts.tiled = facts.low < facts.high &&
                  sums->coverage.load(std::memory_order_relaxed) == coverage_of_range(facts.low, facts.high);
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
  if (writes && how.unit > 0 && !has_whole_units(access, how.unit)) return false;
  return comm_.size() == 1 || access.bytes() / access.pieces() >= (writes ? large_write : large_read);
}

bool Collective::exchanges(const Facts& facts, const Together& how, bool writes) const {
  if (how.exchange == Together::Way::always || !how.direct) return true;
  if (writes && how.unit > 0 && (facts.high - facts.low) / window_size(how) < most_windows_of_units) return true;
  const int64_t range = facts.high - facts.low;
  const int64_t gaps = std::max<int64_t>(range - facts.bytes, 0);
  return range / sparse <= facts.bytes || gaps / facts.pieces < mean_gap_worth_a_request;
}

// Whether tasks may write in place, as far as one of them can tell.
bool Collective::may_place(File& file, const Together& how) const {
  const bool shares = comm_.size() > 1 && how.shared && (staged_ || !looked_for_memory_);
  return shares && how.place && how.aggregators == 0 && !how.serial && how.exchange != Together::Way::never && file.memory_page() > 0 &&
         (!in_place_ || in_place_->works());
}

// Whether this task puts large pieces in place before it knows what the others have. They all had such in the last call that it knows of,
// so pages that it makes whole are likely to be filled.
bool Collective::places_alone(const Access& access, const Together& how) const {
  return placing_alone_ > 0 && how.ahead && how.allreduce && access.high() - access.low() == access.bytes();
}

// Whether this task may leave a call in which it has nothing left to do. Then nothing is likely to fail of which the others should
// know before they go on.
bool Collective::may_leave(File& file, const Part& part, const Together& how, int64_t bytes) const {
  if (!free_ || !can_begin_ || part.problem || part.access.bytes() > 0 || !how.ahead || !how.allreduce || how.serial) return false;
  if (part.places && !part.placed && not_waiting_ == 0) return false;  // others may wait for this task
  const int64_t needed = part.writes ? std::max(plenty, saturated_product(bytes, plenty_for_range * comm_.size())) : 1;
  return bytes > 0 && (part.places ? part.room : file.room_left()) >= needed;
}

// False if this kind of group cannot. Who leaves brings nothing to the call but that.
bool Collective::leave(const Together& how) {
  const uint32_t turn = turn_;
  take_sums(how);
  can_begin_ = comm_.begin_all_max(brought({}, false, true));
  if (!can_begin_) {
    turn_ = turn;
    return false;
  }
  owed_ = Owed::call;
  return true;
}

void Collective::settle() {
  if (owed_ == Owed::call) {
    Reduction values{};
    comm_.finish_all_max(values);
    failed_ = values[0] != 0;
    free_ = values[1] == none;
    // Those who had to stay have yet to end their part, alone.
    if (!free_) comm_.begin_all_max(Reduction{});
    owed_ = free_ ? Owed::nothing : Owed::rest;
  }
  if (owed_ == Owed::rest) {
    Reduction values{};
    comm_.finish_all_max(values);
    failed_ = failed_ || values[0] != 0;
    owed_ = Owed::nothing;
  }
}

std::optional<Error> Collective::late() {
  settle();
  failed_ = false;
  return std::exchange(late_, std::nullopt);
}

// This task has stayed, others have left: it ends its part alone. Nothing is sieved, as they may write between its pieces.
int64_t Collective::without_some(File& file, const Part& part, const Facts& facts, const Together& how, Tally& tally) {
  int64_t done = 0;
  late_ = part.problem;
  if (facts.low < facts.high) {
    if (!late_ && part.access.bytes() > 0) {
      Together pieces = how;
      if (part.writes) pieces.alone.sieving = Sieving::never;
      late_ = attempt([&] { done = alone(file, part.access, pieces, part.writes, tally); });
    }
    comm_.begin_all_max(Reduction{late_.has_value()});
    owed_ = Owed::rest;
  }
  if (late_) throw *late_;
  return done;
}

int64_t Collective::transfer(File& file, const Access& access, const Together& how, bool writes, std::optional<Error> problem,
                             Tally& tally) {
  settle();
  if (std::exchange(failed_, false)) {
    free_ = false;
    agree(comm_, std::exchange(late_, std::nullopt));
  }
  if (late_ && !problem) problem = std::exchange(late_, std::nullopt);
  // Who need not ask the others goes ahead; the reduction then tells how that went.
  Part rest{access, writes};
  int64_t done = 0;
  rest.places = writes && may_place(file, how);
  if (rest.places) rest.room = file.room_left();
  if (!problem && goes_alone(access, how, writes) && (!in_place_ || in_place_->await_last())) {
    // Together they may fill a range of a file that is memory, whose pages they then make together: worth waiting for the others.
    const bool waits = rest.places && access.filetype->is_ordered() && access.bytes() >= worth_waiting && not_waiting_ == 0;
    rest.placed = waits && places_alone(access, how);
    rest.large = waits && !rest.placed;
    if (rest.placed) {
      ++tally.place_calls;
      problem = in_place_->write_alone(file, access, tally);
    } else if (!rest.large) {
      problem = attempt([&] { done = alone(file, access, how, writes, tally); });
    }
    if (!rest.large) rest.access = {};
  }
  if (writes && not_waiting_ > 0) --not_waiting_;
  if (writes && placing_alone_ > 0) --placing_alone_;
  if (const auto exchanged = at_once(file, rest.access, how, writes, problem, tally)) return rest.access.bytes() > 0 ? *exchanged : done;
  rest.problem = problem;
  if (may_leave(file, rest, how, access.bytes()) && leave(how)) {
    ++tally.ahead_calls;
    return done;
  }
  Facts facts = meet(rest, how);
  repeats_ = false;
  free_ = facts.low == facts.high;
  if (facts.some_left) return std::max(done, without_some(file, rest, facts, how, tally));
  if (free_) return done;
  // Programs whose tasks always go ahead never need the memory. Sums over the tasks are in it: they meet again.
  if (make_stage(how)) facts = meet(rest, how);
  if (facts.places && facts.tiled && uses_memory(how) &&
      InPlace::pays(file, {facts.low, facts.high - facts.low}, facts.bytes / facts.pieces >= large_write))
    return std::max(done, in_place(file, rest.access, facts, tally));
  if (facts.large) {
    not_waiting_ = writes_not_waiting;
    return transfer(file, access, how, writes, problem, tally);
  }
  if (exchanges(facts.repeated ? plan_->facts : facts, how, writes)) {
    const int64_t exchanged = uses_memory(how) ? staged(file, rest.access, how, writes, facts, tally)
                                               : by_messages(file, rest.access, how, writes, facts, tally);
    return rest.access.bytes() > 0 ? exchanged : done;
  }
  agree(comm_, attempt([&] {
    if (rest.access.bytes() > 0) done = alone(file, rest.access, how, writes, tally);
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
