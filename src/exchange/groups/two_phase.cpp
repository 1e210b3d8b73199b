#include "exchange/groups/two_phase.hpp"

#include <algorithm>
#include <utility>

#include "comm/agree.hpp"
#include "comm/rounds.hpp"
#include "exchange/pieces/access_list.hpp"
#include "exchange/transfer/hosts_file.hpp"

namespace sheaf::exchange {

void TwoPhase::Round::reserve(int64_t bytes) {
  if (room >= bytes) return;
  memory = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes));
  room = bytes;
}

void TwoPhase::reserve(int64_t bytes) {
  for (Round& round : rounds_) round.reserve(bytes);
}

bool TwoPhase::is_own(const Message& message) const { return senders_[message.peer].task == comm_.rank(); }

// The bytes that the aggregator gets in the round.
TwoPhase::Part TwoPhase::part(const Access& access, int64_t round) const {
  if (access.bytes() <= 0) return {};
  if (in_sequence_) return {access.position_at(round * step_), access.position_at((round + 1) * step_)};
  const int64_t from = access.from + std::min(access.bytes(), round * step_);
  return {from, from + std::min(access.to - from, step_)};
}

// What travels in a round, and memory for it. What this task has for itself as an aggregator does not travel:
// both sides of it are one piece of memory. Nor does what passes between tasks of a host.
TwoPhase::Round& TwoPhase::lay_out(const Access& access, int64_t round) {
  Round& r = rounds_[round % 2];
  r.of_senders.clear();
  r.own.clear();
  int64_t bytes = 0;
  for (size_t s = 0; s < senders_.size(); ++s) {
    const Part wanted = part(senders_[s].access(), round);
    if (wanted.bytes() <= 0) continue;
    const int task = senders_[s].task;
    if (is_near(task)) {
      r.of_senders.push_back({s, wanted, mail_.slot(task, round), true});
      continue;
    }
    r.of_senders.push_back({s, wanted});
    bytes += wanted.bytes();
  }
  if (const Part own = part(access, round); own.bytes() > 0) {
    if (is_near(aggregator_)) {
      r.own.push_back({0, own, mail_.slot(comm_.rank(), round), true});
    } else {
      std::byte* const stream = access.contiguous(own.from);
      r.own.push_back({0, own, stream});
      if (!stream) bytes += own.bytes();
    }
  }
  r.reserve(bytes);
  std::byte* free = r.memory.get();
  for (Message& message : r.own)
    if (!message.memory) message.memory = std::exchange(free, free + message.part.bytes());
  for (Message& message : r.of_senders) {
    if (message.near) continue;
    message.memory =
        is_own(message) ? r.own.front().memory : std::exchange(free, free + message.part.bytes());
  }
  return r;
}

// Within a host there are no messages.
std::unique_ptr<Exchange> TwoPhase::Transport::exchange(std::vector<Outgoing> outgoing,
                                                        std::vector<Incoming> incoming) const {
  struct Nothing final : Exchange {
    std::vector<int64_t> finish() override { return {}; }
  };
  if (tasks.mail_.reaches_all()) return std::make_unique<Nothing>();
  return tasks.comm_.exchange(std::move(outgoing), std::move(incoming));
}

// Where a sender's bytes belong, and where they are here.
Access TwoPhase::stored(const Message& message) const {
  return {0,
          &senders_[message.peer].pieces,
          message.part.from,
          message.part.to,
          message.memory,
          &contiguous_bytes()};
}

std::optional<Error> TwoPhase::write(File& file, const Access& access, Tally& tally) {
  const auto prepare = [&](int64_t round) {
    const Clock clock(tally.exchange_ns);
    Round& r = lay_out(access, round);
    Step step;
    for (const Message& message : r.own) {
      const auto [from, to] = message.part;
      tally.exchanged_bytes += to - from;
      if (message.near) continue;
      if (!access.contiguous(from)) pack(access, from, to, message.memory);
      if (!leads()) step.outgoing.push_back({aggregator_, {message.memory, static_cast<size_t>(to - from)}});
    }
    for (const Message& message : r.of_senders)
      if (!is_own(message) && !message.near)
        step.incoming.push_back(
            {senders_[message.peer].task, {message.memory, static_cast<size_t>(message.part.bytes())}});
    mail_.put(phase_of(round), [&] {
      for (const Message& message : r.own) pack(access, message.part.from, message.part.to, message.memory);
    });
    return step;
  };
  std::optional<Error> problem;
  const auto use = [&](int64_t round, const std::vector<int64_t>&) {
    if (!leads()) return;
    mail_.collect(phase_of(round), [&] {
      if (!problem && !rounds_[round % 2].of_senders.empty())
        problem = attempt([&] { write_round(file, round); });
    });
  };
  Transport transport{*this};
  const auto failed = in_rounds(transport, steps_, prepare, use);
  if (problem) return problem;
  return failed ? failed : attempt([&] { to_server(file); });
}

void TwoPhase::write_round(File& file, int64_t round) {
  if (unknown_) throw *unknown_;
  std::vector<Piece<const std::byte>> pieces;
  for (const Message& message : rounds_[round % 2].of_senders) add_pieces(pieces, stored(message));
  write_pieces(file, std::move(pieces));
}

std::optional<Error> TwoPhase::read(File& file, const Access& access, int64_t& done, Tally& tally) {
  std::optional<Error> problem;
  done = access.to;
  if (leads()) problem = attempt([&] { from_server(file); });
  // An aggregator that has failed sends nothing.
  const auto prepare = [&](int64_t round) {
    Round& r = lay_out(access, round);
    Step step;
    const auto serve = [&] {
      const auto failed = attempt([&] { read_round(file, round); });
      if (failed && !problem) problem = failed;
      for (Message& message : r.of_senders) {
        if (failed) message.part.to = message.part.from;
        const int task = senders_[message.peer].task;
        if (message.near) mail_.set_bytes(task, round, message.part.bytes());
        if (!is_own(message) && !message.near)
          step.outgoing.push_back({task, {message.memory, static_cast<size_t>(message.part.bytes())}});
      }
    };
    if (leads()) mail_.offer(phase_of(round), serve);
    for (const Message& message : r.own)
      if (!leads() && !message.near)
        step.incoming.push_back({aggregator_, {message.memory, static_cast<size_t>(message.part.bytes())}});
    return step;
  };
  const auto use = [&](int64_t round, const std::vector<int64_t>& received) {
    const Clock clock(tally.exchange_ns);
    const Round& r = rounds_[round % 2];
    int64_t near = 0;  // bytes that were taken
    mail_.take(phase_of(round), [&] {
      if (r.own.empty()) return;
      const Message& message = r.own.front();
      near = mail_.bytes(comm_.rank(), round);
      unpack(access, message.part.from, message.part.from + near, message.memory);
    });
    for (const Message& message : r.own) {
      const auto [from, to] = message.part;
      int64_t got = near;
      if (!message.near) {
        got = leads() ? std::ranges::find_if(r.of_senders, [&](const Message& m) { return is_own(m); })
                            ->part.bytes()
                      : received[0];
      }
      if (from + got < to) done = std::min(done, from + got);
      tally.exchanged_bytes += got;
      if (!message.near && !access.contiguous(from)) unpack(access, from, from + got, message.memory);
    }
  };
  Transport transport{*this};
  const auto failed = in_rounds(transport, steps_, prepare, use);
  return problem ? problem : failed;
}

void TwoPhase::read_round(File& file, int64_t round) {
  Round& r = rounds_[round % 2];
  if (r.of_senders.empty()) return;
  if (unknown_) throw *unknown_;
  std::vector<Piece<std::byte>> pieces;
  for (const Message& message : r.of_senders) add_pieces(pieces, stored(message));
  read_pieces(file, std::move(pieces), gap_worth_reading);
}

}  // namespace sheaf::exchange
