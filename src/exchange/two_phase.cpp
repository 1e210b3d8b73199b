#include "exchange/two_phase.hpp"

#include <algorithm>
#include <utility>

#include "comm/agree.hpp"
#include "comm/dense_exchange.hpp"
#include "exchange/access_list.hpp"
#include "exchange/coverage.hpp"
#include "exchange/hosts_file.hpp"
#include "exchange/rounds.hpp"
#include "exchange/write_covered.hpp"

namespace sheaf::exchange {

// What rounds talk through.
class TwoPhase::Transport {
 public:
  // `silent`: there are no messages.
  Transport(Comm& comm, const Manner& manner, bool silent)
      : comm_(comm), dense_(manner.alltoall ? dynamic_cast<DenseExchange*>(&comm) : nullptr), silent_(silent) {}
  std::unique_ptr<Exchange> exchange(std::vector<Outgoing> outgoing, std::vector<Incoming> incoming) {
    if (silent_) return std::make_unique<Nothing>();
    if (dense_) return dense_->exchange_all(std::move(outgoing), std::move(incoming));
    return comm_.exchange(std::move(outgoing), std::move(incoming));
  }

 private:
  struct Nothing final : Exchange {
    std::vector<int64_t> finish() override { return {}; }
  };

  Comm& comm_;
  DenseExchange* const dense_;
  const bool silent_;
};

void TwoPhase::Round::reserve(int64_t bytes) {
  if (room >= bytes) return;
  memory = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes));
  room = bytes;
}

void TwoPhase::reserve(int64_t bytes) {
  for (Round& round : rounds_) round.reserve(bytes);
}

bool TwoPhase::is_own(const Message& message) const { return senders_[message.peer].task == comm_.rank(); }

// What travels in a round, and memory for it. What this task has for itself as an aggregator does not travel: both sides of
// it are one piece of memory. Nor does what passes between tasks of a node.
TwoPhase::Round& TwoPhase::lay_out(const Access& access, int64_t round, bool absent) {
  Round& r = rounds_[round % 2];
  r.of_senders.clear();
  r.own.clear();
  int64_t bytes = 0;
  for (size_t s = 0; s < senders_.size(); ++s) {
    const auto part = domains_.part(senders_[s].access(), mine_, round);
    if (part.bytes() <= 0) continue;
    const int task = senders_[s].task;
    if (is_near(task)) {
      r.of_senders.push_back({s, part, mail_.slot(task, round), true});
      continue;
    }
    r.of_senders.push_back({s, part});
    bytes += part.bytes();
  }
  for (size_t a = 0; a < aggregators_.size() && access.bytes() > 0; ++a) {
    const auto part = domains_.part(access, static_cast<int64_t>(a), round);
    if (part.bytes() <= 0) continue;
    if (is_near(aggregators_[a])) {
      r.own.push_back({a, part, mail_.slot(comm_.rank(), round), true});
      continue;
    }
    std::byte* const stream = absent ? nullptr : access.contiguous(part.from);
    r.own.push_back({a, part, stream});
    if (!stream) bytes += part.bytes();
  }
  r.reserve(bytes);
  std::byte* free = r.memory.get();
  for (Message& message : r.own)
    if (!message.memory) message.memory = std::exchange(free, free + message.part.bytes());
  for (Message& message : r.of_senders) {
    if (message.near) continue;
    message.memory = std::exchange(free, free + message.part.bytes());
    if (!is_own(message)) continue;
    for (const Message& own : r.own)
      if (static_cast<int64_t>(own.peer) == mine_) message.memory = own.memory;
  }
  return r;
}

// Where a sender's bytes belong, and where they are here.
Access TwoPhase::stored(const Message& message) const {
  return {0, &senders_[message.peer].pieces, message.part.from, message.part.to, message.memory, &contiguous_bytes()};
}

std::optional<Error> TwoPhase::write(File& file, const Access& access, bool absent, Sieving sieving, const Manner& manner,
                                     Tally& tally) {
  const auto prepare = [&](int64_t round) {
    const Clock clock(tally.exchange_ns);
    Round& r = lay_out(access, round, absent);
    Step step;
    for (const Message& message : r.own) {
      const auto [from, to] = message.part;
      if (message.near) {
        give(access, message, round);
        tally.exchanged_bytes += to - from;
        continue;
      }
      if (!absent && !access.contiguous(from)) pack(access, from, to, message.memory);
      if (!absent) tally.exchanged_bytes += to - from;
      const int aggregator = aggregators_[message.peer];
      if (aggregator != comm_.rank())
        step.outgoing.push_back({aggregator, {message.memory, absent ? 0 : static_cast<size_t>(to - from)}});
    }
    for (const Message& message : r.of_senders)
      if (!is_own(message) && !message.near)
        step.incoming.push_back({senders_[message.peer].task, {message.memory, static_cast<size_t>(message.part.bytes())}});
    return step;
  };
  std::optional<Error> problem;
  const auto use = [&](int64_t round, const std::vector<int64_t>& received) {
    const Round& r = rounds_[round % 2];
    await_givers(r, round);
    // If somebody is absent, all begin anew.
    const bool whole = std::ranges::find(received, 0) == received.end() &&
                       !(absent && std::ranges::any_of(r.of_senders, [&](const Message& message) { return is_own(message); }));
    if (!problem && whole && !r.of_senders.empty()) problem = attempt([&] { write_round(file, round, sieving, tally); });
    if (mine_ >= 0 && mail_.has_boxes()) mail_.release(phase_of(round));
  };
  Transport transport(comm_, manner, mail_.reaches_all());
  const auto failed = in_rounds(transport, domains_.rounds(), prepare, use, manner.overlap);
  if (problem) return problem;
  return failed ? failed : attempt([&] { to_server(file); });
}

void TwoPhase::give(const Access& access, const Message& message, int64_t round) {
  const int aggregator = aggregators_[message.peer];
  mail_.await_release(aggregator, phase_of(round) - 2);
  pack(access, message.part.from, message.part.to, message.memory);
  mail_.arrive(aggregator, phase_of(round));
}

void TwoPhase::await_givers(const Round& r, int64_t round) {
  const auto near = std::ranges::count_if(r.of_senders, &Message::near);
  if (near == 0) return;
  mail_.expect(near, phase_of(round));
  mail_.await_arrivals(phase_of(round));
}

void TwoPhase::let_take(const Round& r, int64_t round) {
  if (mine_ < 0 || !mail_.has_boxes()) return;
  for (const Message& message : r.of_senders)
    if (message.near) mail_.set_bytes(senders_[message.peer].task, round, message.part.bytes());
  mail_.expect(std::ranges::count_if(r.of_senders, &Message::near), phase_of(round));
  mail_.release(phase_of(round));
}

int64_t TwoPhase::take(const Access& access, const Message& message, int64_t round) {
  const int aggregator = aggregators_[message.peer];
  mail_.await_release(aggregator, phase_of(round));
  const int64_t got = mail_.bytes(comm_.rank(), round);
  unpack(access, message.part.from, message.part.from + got, message.memory);
  mail_.arrive(aggregator, phase_of(round));
  return got;
}

void TwoPhase::write_round(File& file, int64_t round, Sieving sieving, Tally& tally) {
  const Round& r = rounds_[round % 2];
  if (unknown_) throw *unknown_;
  if (!in_windows_) {
    std::vector<Piece<const std::byte>> pieces;
    for (const Message& message : r.of_senders) add_pieces(pieces, stored(message));
    return write_pieces(file, std::move(pieces));
  }
  const int64_t begin = domains_.begin(mine_, round), end = domains_.end(mine_, round);
  const bool full = full_[static_cast<size_t>(round)];
  if (!full && covered_.empty()) covered_ = std::vector<std::atomic<uint64_t>>(CoverageMap::words_for(domains_.window_size()));
  const CoverageMap map{std::span(covered_)};
  window_.resize(static_cast<size_t>(end - begin));
  for (const Message& message : r.of_senders) {
    const Access part = stored(message);
    put_pieces(part, part.from, part.to, window_.data(), begin);
    if (!full) map.set(part, part.from, part.to, begin);
  }
  if (full) return put_shared(file, window_, begin, tally);
  const auto problem = attempt([&] {
    while_written(file, begin, end - begin, [&] { write_covered(file, window_, map, begin, sieving, tally); });
  });
  map.clear();
  if (problem) throw *problem;
}

std::optional<Error> TwoPhase::read(File& file, const Access& access, bool absent, const Manner& manner, int64_t& done,
                                    Tally& tally) {
  std::optional<Error> problem;
  done = access.to;
  if (mine_ >= 0) problem = attempt([&] { from_server(file); });
  // An aggregator sends what there is; a message that is too short tells where the file ends.
  const auto prepare = [&](int64_t round) {
    Round& r = lay_out(access, round, absent);
    // The slots of this round are free when what was in them two rounds ago is taken.
    if (mine_ >= 0 && mail_.has_boxes()) mail_.await_arrivals(phase_of(round));
    const auto failed = attempt([&] { read_round(file, round, tally); });
    if (failed && !problem) problem = failed;
    Step step;
    for (Message& message : r.of_senders) {
      if (failed) message.part.to = message.part.from;
      if (!is_own(message) && !message.near)
        step.outgoing.push_back({senders_[message.peer].task, {message.memory, static_cast<size_t>(message.part.bytes())}});
    }
    let_take(r, round);
    for (const Message& message : r.own)
      if (aggregators_[message.peer] != comm_.rank() && !message.near)
        step.incoming.push_back({aggregators_[message.peer], {message.memory, static_cast<size_t>(message.part.bytes())}});
    return step;
  };
  const auto use = [&](int64_t round, const std::vector<int64_t>& received) {
    const Clock clock(tally.exchange_ns);
    const Round& r = rounds_[round % 2];
    size_t next = 0;
    for (const Message& message : r.own) {
      if (absent) break;
      int64_t got = 0;
      if (message.near) {
        got = take(access, message, round);
      } else if (aggregators_[message.peer] != comm_.rank()) {
        got = received[next++];
      } else {
        got = std::ranges::find_if(r.of_senders, [&](const Message& m) { return is_own(m); })->part.bytes();
      }
      const auto [from, to] = message.part;
      if (from + got < to) done = std::min(done, from + got);
      tally.exchanged_bytes += got;
      if (!message.near && !access.contiguous(from)) unpack(access, from, from + got, message.memory);
    }
  };
  Transport transport(comm_, manner, mail_.reaches_all());
  const auto failed = in_rounds(transport, domains_.rounds(), prepare, use, manner.overlap);
  return problem ? problem : failed;
}

// Fills the messages to the senders; those that the file has no bytes for become shorter.
void TwoPhase::read_round(File& file, int64_t round, Tally& tally) {
  Round& r = rounds_[round % 2];
  if (r.of_senders.empty()) return;
  if (unknown_) throw *unknown_;
  if (!in_windows_) {
    std::vector<Piece<std::byte>> pieces;
    for (const Message& message : r.of_senders) add_pieces(pieces, stored(message));
    return read_pieces(file, std::move(pieces), gap_worth_reading);
  }
  int64_t low = domains_.end(mine_, round), high = domains_.begin(mine_, round);  // what is wanted of the window
  for (const Message& message : r.of_senders) {
    low = std::min(low, stored(message).low());
    high = std::max(high, stored(message).high());
  }
  window_.resize(static_cast<size_t>(high - low));
  const auto got = static_cast<int64_t>(get(file, window_, low, tally));
  const Clock clock(tally.exchange_ns);
  for (Message& message : r.of_senders) {
    const Access part = stored(message);
    message.part.to = part.position_at(low + got);
    take_pieces(part, part.from, message.part.to, window_.data(), low);
  }
}

}  // namespace sheaf::exchange
