// comm_contract: checks the contract of every kind of Comm by one collective function. The function throws
// std::logic_error on the task that detects a violation, so GoogleTest, fibers and plain MPI programs can use
// it.
#pragma once

#include "comm/agree.hpp"
#include "comm/comm_model.hpp"

namespace sheaf::test {

inline void check_reductions(Comm& comm) {
  const int64_t me = comm.rank(), size = comm.size();
  std::array<int64_t, 3> values{me, -me, INT64_MIN};
  comm.all_max(values);
  require(values == std::array<int64_t, 3>{size - 1, 0, INT64_MIN}, "all_max");
  values = {me, 1, -me};
  comm.all_sum(values);
  require(values == std::array<int64_t, 3>{size * (size - 1) / 2, size, -size * (size - 1) / 2}, "all_sum");
  values = {me, 1, -1};
  comm.prefix_sum(values);
  require(values == std::array<int64_t, 3>{me * (me - 1) / 2, me, -me}, "prefix_sum");
  comm.all_max({});
  comm.all_sum({});
  comm.prefix_sum({});
}

inline void check_prefix_sum_and_total(Comm& comm, size_t count) {
  const int64_t me = comm.rank(), size = comm.size();
  std::vector<int64_t> values(count), totals(count, 12345);
  for (size_t i = 0; i < count; ++i) values[i] = me * static_cast<int64_t>(i + 1) - 7;
  comm.prefix_sum_and_total(values, totals);
  for (size_t i = 0; i < count; ++i) {
    const auto factor = static_cast<int64_t>(i + 1);
    require(values[i] == factor * (me * (me - 1) / 2) - 7 * me,
            "prefix_sum_and_total: sum of the tasks before");
    require(totals[i] == factor * (size * (size - 1) / 2) - 7 * size, "prefix_sum_and_total: total");
  }
}

// Checks reductions of many lengths, because a Comm may use another algorithm for long contributions.
inline void check_long_and_short(Comm& comm) {
  for (const size_t count : {0, 1, 3, 16, 17, 128, 129, 200}) {
    check_prefix_sum_and_total(comm, count);
    const auto n = static_cast<int64_t>(count);
    std::vector<int64_t> maxima(count, comm.rank()), sums(count, 1), before(count, 2);
    comm.all_max(maxima);
    comm.all_sum(sums);
    comm.prefix_sum(before);
    require(std::ranges::count(maxima, comm.size() - 1) == n, "all_max of many");
    require(std::ranges::count(sums, comm.size()) == n, "all_sum of many");
    require(std::ranges::count(before, 2 * comm.rank()) == n, "prefix_sum of many");
  }
}

// Checks that an error of task `actor` becomes the outcome of all tasks, and that errors of other tasks do
// not.
inline void check_agree_with(Comm& comm) {
  for (const int actor : {0, comm.size() / 2, comm.size() - 1}) {
    const bool acts = comm.rank() == actor;
    const Error full(Code::no_space, "disk is full", 28);
    agree_with(comm, std::nullopt, actor);
    agree_with(comm, acts ? std::nullopt : std::optional(full), actor);
    const auto outcome = attempt([&] { agree_with(comm, acts ? std::optional(full) : std::nullopt, actor); });
    require(outcome && outcome->code() == Code::no_space && outcome->errno_value() == 28,
            "agree_with: the error");
    const std::string prefix = acts ? "" : "task " + std::to_string(actor) + ": ";
    require(outcome->what() == prefix + "disk is full", "agree_with: the message names the task");
    const auto other = attempt([&] { agree_with(comm, Error(Code::io, "mine"), actor); });
    require(other && other->what() == std::string("mine"), "agree_with: a task keeps an error of its own");
  }
}

inline void check_broadcast(Comm& comm) {
  for (const int root : {0, comm.size() / 2, comm.size() - 1})
    for (const int64_t length : {0, 1, 1000, 1024, 1025}) {
      std::vector<std::byte> data = pattern(comm.rank() == root ? 7 : 8, length);
      comm.broadcast(data, root);
      require(data == pattern(7, length), "broadcast");
    }
}

// Checks gather and scatter. length_of(rank) is the length of a task's contribution in bytes.
template <typename LengthOf>
void check_gather_and_scatter(Comm& comm, int root, LengthOf length_of) {
  const std::vector<std::byte> mine = pattern(comm.rank(), length_of(comm.rank()));
  const Gathered all = comm.gather(mine, root);
  if (comm.rank() == root) {
    const std::vector<int64_t> offsets = all.offsets();
    require(std::ssize(all.sizes) == comm.size() && std::ssize(offsets) == comm.size() + 1,
            "gather: one size per task");
    require(offsets.back() == std::ssize(all.bytes), "gather: sizes add up");
    for (int rank = 0; rank < comm.size(); ++rank) {
      const auto r = static_cast<size_t>(rank);
      require(all.sizes[r] == length_of(rank) &&
                  is_pattern(rank, std::span(all.bytes).subspan(static_cast<size_t>(offsets[r]),
                                                                static_cast<size_t>(all.sizes[r]))),
              "gather: contributions in rank order");
    }
  } else {
    require(all.bytes.empty() && all.sizes.empty(), "gather: empty but at the root");
  }
  require(comm.scatter(all, root) == mine, "scatter reverses gather");
}

inline void check_scatter_equal(Comm& comm, int root, size_t length) {
  std::vector<std::byte> pieces;
  if (comm.rank() == root)
    for (size_t i = 0; i < length * static_cast<size_t>(comm.size()); ++i)
      pieces.push_back(static_cast<std::byte>(i * 7));
  std::vector<std::byte> mine(length);
  comm.scatter_equal(pieces, mine, root);
  for (size_t i = 0; i < length; ++i)
    require(mine[i] == static_cast<std::byte>((length * static_cast<size_t>(comm.rank()) + i) * 7),
            "scatter_equal gives every task its piece");
}

inline void check_gather_and_scatter(Comm& comm) {
  for (const size_t length : {0, 1, 24, 1024, 1025, 2}) check_scatter_equal(comm, comm.size() - 1, length);
  for (const int root : {0, comm.size() - 1, comm.size() / 3}) {
    check_gather_and_scatter(comm, root, [](int) { return 0; });
    check_gather_and_scatter(comm, root, [](int) { return 16; });
    check_gather_and_scatter(comm, root, [](int rank) { return rank % 3 * 5; });
    check_gather_and_scatter(comm, root, [root](int rank) { return rank == root ? 2000 : 0; });
    check_gather_and_scatter(comm, root, [root](int rank) { return rank == root + 1 ? 3000 : 1; });
    for (const int length : {1016, 1024, 1025, 1})
      check_gather_and_scatter(comm, root, [=](int) { return length; });
  }
}

inline void check_splits(Comm& comm) {
  const int me = comm.rank(), size = comm.size();
  const std::unique_ptr<Comm> reversed = comm.split(0, -me);
  require(reversed->rank() == size - 1 - me && reversed->size() == size, "split orders by key");
  const std::unique_ptr<Comm> thirds = comm.split(me % 3, 0);
  require(thirds->rank() == me / 3 && thirds->size() == (size - me % 3 + 2) / 3,
          "split: equal keys order by rank");
  const std::unique_ptr<Comm> part = thirds->split(thirds->rank() % 2, -me);
  std::array<int64_t, 2> sums{me % 6, 1};
  part->all_sum(sums);
  require(sums[1] == part->size() && sums[0] == int64_t{me % 6} * part->size(), "split of a split");
  const std::unique_ptr<Comm> none = comm.split(me == 0 ? -1 : 5, 0);
  require((none == nullptr) == (me == 0), "split: a negative color is in no group");
  if (none) require(none->size() == size - 1 && none->rank() == me - 1, "split without one task");

  const std::unique_ptr<Comm> copy = reversed->duplicate();
  require(copy->rank() == reversed->rank() && copy->size() == size, "duplicate keeps the order");
  const std::unique_ptr<Comm> node = comm.split_by_node();
  std::array<int64_t, 2> previous{me, node->rank()};
  node->prefix_sum(std::span(previous).first(1));
  std::array<int64_t, 1> members{1};
  node->all_sum(members);
  require(members[0] == node->size() && node->rank() < node->size(), "split_by_node");
  if (node->rank() == 1) require(previous[0] < me, "split_by_node keeps the order");
}

// Checks `rounds` exchanges that are in flight together. Task `from` sends count(from, to) messages to each
// task `to`, itself included. Receive buffers are `spare` bytes larger than the messages.
inline void check_exchange_of(Comm& comm, int rounds, int (*count)(int from, int to), int64_t spare) {
  const int me = comm.rank(), size = comm.size();
  const auto key = [](int from, int to, int number) { return from * 1009 + to * 31 + number; };
  const auto length = [](int from, int to, int number) {
    return int64_t{(from * 7 + to * 3 + number * 11) % 40} * 25;
  };
  struct ExchangeRound {
    std::vector<std::vector<std::byte>> memory;
    std::vector<std::pair<int, int>> from;
    std::unique_ptr<Exchange> exchange;
  };
  std::vector<ExchangeRound> all(static_cast<size_t>(rounds));
  for (int r = 0; r < rounds; ++r) {
    ExchangeRound& round = all[static_cast<size_t>(r)];
    std::vector<Outgoing> outgoing;
    std::vector<Incoming> incoming;
    for (int other = size - 1; other >= 0; --other)
      for (int number = r; number < r + count(me, other); ++number) {
        round.memory.push_back(pattern(key(me, other, number), length(me, other, number)));
        outgoing.push_back({other, round.memory.back()});
      }
    for (int other = 0; other < size; ++other)
      for (int number = r; number < r + count(other, me); ++number) {
        round.memory.emplace_back(static_cast<size_t>(length(other, me, number) + spare));
        incoming.push_back({other, round.memory.back()});
        round.from.emplace_back(other, number);
      }
    round.exchange = comm.exchange(std::move(outgoing), std::move(incoming));
  }
  for (ExchangeRound& round : all) {
    const std::vector<int64_t> received = round.exchange->finish();
    require(received.size() == round.from.size(), "exchange: a size for every message");
    const size_t first = round.memory.size() - received.size();
    for (size_t i = 0; i < received.size(); ++i) {
      const auto [from, number] = round.from[i];
      require(received[i] == length(from, me, number), "exchange: length of a message");
      require(is_pattern(key(from, me, number),
                         std::span(round.memory[first + i]).first(static_cast<size_t>(received[i]))),
              "exchange: bytes of a message");
    }
  }
}

inline void check_exchanges(Comm& comm) {
  check_exchange_of(
      comm, 2, [](int, int) { return 0; }, 0);
  check_exchange_of(
      comm, 1, [](int, int to) { return int{to == 0}; }, 100);  // all tasks to one
  check_exchange_of(
      comm, 2, [](int from, int) { return 2 * int{from == 0}; }, 1);  // one task to all
  if (comm.size() > 20) return;
  check_exchange_of(
      comm, 1, [](int, int) { return 1; }, 0);
  check_exchange_of(
      comm, 3, [](int from, int to) { return (from + 2 * to) % 3; }, 40);
  const std::unique_ptr<Comm> part = comm.split(comm.rank() % 2, -comm.rank());
  check_exchange_of(
      *part, 2, [](int from, int to) { return (2 * from + to) % 3; }, 0);
}

inline void check_reductions_by_method(Comm& comm) {
  const int64_t me = comm.rank(), size = comm.size();
  for (const ReductionMethod method :
       {ReductionMethod::hosts, ReductionMethod::allreduce, ReductionMethod::allgather}) {
    std::array<int64_t, 3> values{me, -me, INT64_MIN};
    comm.reduce_by(method, Reduction::max, values);
    require(values == std::array<int64_t, 3>{size - 1, 0, INT64_MIN}, "maxima by a method");
    values = {me, 1, -me};
    comm.reduce_by(method, Reduction::sum, values);
    require(values == std::array<int64_t, 3>{size * (size - 1) / 2, size, -size * (size - 1) / 2},
            "sums by a method");
    comm.reduce_by(method, Reduction::sum, {});
    if (size > 20) continue;  // an allgather has the numbers of all tasks on each
    std::vector<int64_t> many(200, me);
    comm.reduce_by(method, Reduction::max, many);
    require(std::ranges::count(many, size - 1) == 200, "maxima of many numbers by a method");
  }
}

// Checks exchanges by `method`, two at a time in flight. Task a exchanges with task b if linked(a, b), which
// is symmetric; task `from` sends count(from, to) messages to task `to`. No task sends more than `largest`
// bytes.
inline void check_exchanger_of(Comm& comm, ExchangeMethod method, int64_t largest, bool (*linked)(int, int),
                               int (*count)(int from, int to)) {
  const int me = comm.rank();
  const auto key = [](int from, int to, int number) { return from * 1009 + to * 31 + number; };
  const auto length = [](int from, int to, int number) {
    return int64_t{(from + to * 3 + number * 5) % 7} * 9;
  };
  std::vector<int> peers;
  for (int other = 0; other < comm.size(); ++other)
    if (linked(me, other)) peers.push_back(other);
  const std::unique_ptr<Exchanger> exchanger = comm.exchanger(method, peers, largest);
  struct StartedExchange {
    std::vector<std::vector<std::byte>> sent, rooms;
    std::vector<std::pair<int, int>> from;
    std::unique_ptr<Exchange> exchange;
  };
  std::array<StartedExchange, 2> started;
  for (StartedExchange& one : started) {
    std::vector<Outgoing> outgoing;
    std::vector<Incoming> incoming;
    for (const int peer : peers) {
      for (int number = 0; number < count(me, peer); ++number) {
        one.sent.push_back(pattern(key(me, peer, number), length(me, peer, number)));
        outgoing.push_back({peer, one.sent.back()});
      }
      for (int number = 0; number < count(peer, me); ++number) {
        one.rooms.emplace_back(static_cast<size_t>(length(peer, me, number)));
        incoming.push_back({peer, one.rooms.back()});
        one.from.emplace_back(peer, number);
      }
    }
    one.exchange = exchanger->start(std::move(outgoing), std::move(incoming));
  }
  for (StartedExchange& one : started) {
    const std::vector<int64_t> received = one.exchange->finish();
    require(received.size() == one.from.size(), "exchanger: a size for every message");
    for (size_t i = 0; i < received.size(); ++i) {
      const auto [from, number] = one.from[i];
      require(received[i] == length(from, me, number) && is_pattern(key(from, me, number), one.rooms[i]),
              "exchanger: bytes of a message");
    }
  }
}

// `largest` is beyond what one call of the transport can count, and not.
inline void check_exchangers(Comm& comm) {
  if (comm.size() > 20) return;
  const auto all = [](int, int) { return true; };
  const auto ring = [](int a, int b) { return a - b == 1 || b - a == 1; };
  const auto none = [](int, int) { return false; };
  for (const ExchangeMethod method :
       {ExchangeMethod::messages, ExchangeMethod::alltoallv, ExchangeMethod::neighbours})
    for (const int64_t largest : {int64_t{4000}, int64_t{1} << 40}) {
      check_exchanger_of(comm, method, largest, all, [](int from, int to) { return (from + 2 * to) % 3; });
      check_exchanger_of(comm, method, largest, ring, [](int from, int to) { return int{from < to}; });
      check_exchanger_of(comm, method, largest, all, [](int from, int) { return 2 * int{from == 0}; });
      check_exchanger_of(comm, method, largest, all, [](int, int) { return 0; });
      check_exchanger_of(comm, method, largest, none, [](int, int) { return 1; });
    }
}

// Checks the whole contract. Then makes `steps` random calls on random groups for each seed.
inline void check_comm_contract(Comm& comm, int steps = 40, std::initializer_list<uint64_t> seeds = {1, 2}) {
  require(comm.rank() >= 0 && comm.rank() < comm.size(), "rank is in the group");
  comm.barrier();
  check_reductions(comm);
  check_long_and_short(comm);
  check_agree_with(comm);
  check_broadcast(comm);
  check_gather_and_scatter(comm);
  check_splits(comm);
  check_exchanges(comm);
  check_reductions_by_method(comm);
  check_exchangers(comm);
  for (const uint64_t seed : seeds) check_random_calls(comm, seed, steps);
  comm.barrier();
}

}  // namespace sheaf::test
