// The ways in which a collective transfer may be carried out (exchange/collective).
#include <algorithm>
#include <utility>

#include "comm/agree.hpp"
#include "exchange/collective_parts.hpp"
#include "exchange/in_place.hpp"
#include "exchange/two_phase.hpp"

namespace sheaf::exchange {

namespace {

layout::AggregatorRules rules_of(const Together& how) {
  layout::AggregatorRules rules;
  rules.wanted = how.aggregators > 0 ? how.aggregators : how.stripes;
  rules.per_node = std::max<int64_t>(how.per_node, 0);
  if (how.on_nodes) rules.on_nodes = *how.on_nodes;
  rules.by_node = how.pset;
  return rules;
}

// The task that has the last byte of a range writes it. Then the file has its length, and those who write windows beside others
// need not wait for them to make it longer (storage/file_memory.hpp).
void write_end(File& file, const Access& access, int64_t high) {
  if (access.bytes() <= 0 || access.high() != high || file.status().size >= high) return;
  std::byte last{};
  pack(access, access.to - 1, access.to, &last);
  file.write_at({&last, 1}, high - 1);
}

}  // namespace

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

int64_t Collective::in_place(File& file, const Access& access, const Facts& facts, Tally& tally) {
  const Extent range{facts.low, facts.high - facts.low};
  SharedWord* const failed = facts.room >= std::max(plenty, saturated_product(range.length, plenty_for_range)) ? nullptr : &facts.sums->failed;
  ++tally.place_calls;
  const auto problem = in_place_->write(file, access, range, failed, tally);
  facts.repeated ? ++tally.plans_reused : ++tally.plans_made;
  if (!facts.repeated) plan_->leg = {};
  plan_->has_leg = !failed || failed->load() == 0;
  if (!failed && facts.bytes / facts.pieces >= large_write) {
    placing_alone_ = writes_not_waiting;
    free_ = true;
  }
  if (!plan_->has_leg) agree(comm_, problem);
  if (problem) {
    late_ = problem;
    throw *problem;
  }
  return access.bytes();
}

int64_t Collective::staged(File& file, const Access& access, const Together& how, bool writes, const Facts& facts, Tally& tally) {
  SharedWord& failed = facts.sums->failed;
  const Extent range{facts.low, facts.high - facts.low};
  ++tally.exchange_calls;
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
  if (writes && facts.tiled && comm_.rank() == 0 && range.length >= worth_room) file.set_aside(range.offset, range.length);
  if (writes && facts.tiled && writers > 1 && range.length > size) {
    problem = attempt([&] { write_end(file, access, facts.high); });
    if (problem) failed.store(1);
  }
  const Windows all = Windows::over(facts.low, facts.high, size, how.aligned);
  if (facts.repeated && !plan_->leg.order.empty()) {
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
    messages_->plan_domains(access, Windows::over(facts.low, facts.high, window_size(how), how.aligned || how.unit > 0),
                            how.unit, rules_of(how));
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

}  // namespace sheaf::exchange
