#include "comm_teams/team_comm.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>

#include "comm/shared_memory.hpp"
#include "comm_teams/hybrid_comm.hpp"
#include "comm_teams/thread_comm.hpp"

namespace sheaf {
namespace {

using Offer = ThreadTeam::Offer;
using Offers = std::span<Offer>;

Offer offer_of(const char* call, std::span<int64_t> values) {
  return {.call = call, .length = values.size_bytes(), .data = reinterpret_cast<std::byte*>(values.data())};
}

std::span<int64_t> values_of(const Offer& one) {
  return {reinterpret_cast<int64_t*>(one.data), one.length / sizeof(int64_t)};
}

// Contributions of the threads of a process as one: their sizes, then their bytes.
void add_process(Gathered& to, std::span<const int64_t> sizes, std::span<const std::byte> bytes) {
  const auto head = std::as_bytes(sizes);
  to.bytes.insert(to.bytes.end(), head.begin(), head.end());
  to.bytes.insert(to.bytes.end(), bytes.begin(), bytes.end());
  to.sizes.push_back(std::ssize(head) + std::ssize(bytes));
}

// The reverse, for `threads` threads.
void take_process(Gathered& to, std::span<const std::byte> bytes, size_t threads) {
  const size_t before = to.sizes.size();
  to.sizes.resize(before + threads);
  const auto head = std::as_writable_bytes(std::span(to.sizes).subspan(before));
  std::ranges::copy(bytes.first(head.size()), head.begin());
  to.bytes.insert(to.bytes.end(), bytes.begin() + std::ssize(head), bytes.end());
}

// Pieces for all threads as pieces for their processes; none if they do not match, which all then refuse.
Gathered by_process(const Gathered& pieces, int tasks, size_t threads) {
  Gathered packed;
  if (!is_consistent(pieces, tasks)) return packed;
  const std::vector<int64_t> offsets = pieces.offsets();
  for (size_t first = 0; first < pieces.sizes.size(); first += threads) {
    const auto begin = static_cast<size_t>(offsets[first]);
    const auto end = static_cast<size_t>(offsets[first + threads]);
    add_process(packed, std::span(pieces.sizes).subspan(first, threads),
                std::span(pieces.bytes).subspan(begin, end - begin));
  }
  return packed;
}

}  // namespace

std::unique_ptr<Comm> TeamComm::of_processes(Membership own, std::unique_ptr<Comm> processes) {
  auto comm = std::make_unique<TeamComm>(std::move(own), 0);
  comm->is_hybrid_ = true;
  comm->processes_ = std::move(processes);
  comm->meet({.call = "hybrid_comm", .result = comm.get()}, [&](Offers all) {
    Comm& between = *comm->processes_;
    int64_t sizes[2] = {comm->threads(), -comm->threads()};
    between.all_max(sizes);
    if (sizes[0] != -sizes[1])
      throw Error(Code::mismatch, "the processes have teams of different sizes, " +
                                      std::to_string(-sizes[1]) + " to " + std::to_string(sizes[0]) +
                                      " threads");
    for (const Offer& one : all) {
      auto& thread = *static_cast<TeamComm*>(one.result);
      thread.process_ = between.rank();
      thread.nprocesses_ = between.size();
    }
  });
  return comm;
}

void TeamComm::barrier() {
  if (star_) return star_->barrier();
  meet({.call = "barrier"}, [&](Offers) {
    if (processes_) processes_->barrier();
  });
}

void TeamComm::broadcast(std::span<std::byte> data, int root) {
  if (star_) return star_->broadcast(data, root);
  check_root(root, size());
  meet({.call = "broadcast", .root = root, .length = data.size(), .data = data.data()}, [&](Offers all) {
    const Offer& from = all[is_here(root) ? thread_of(root) : 0];
    if (processes_) processes_->broadcast({from.data, from.length}, process_of(root));
    for (const Offer& to : all)
      if (&to != &from && to.length > 0) std::memcpy(to.data, from.data, to.length);
  });
}

void TeamComm::reduce(Reduction how, std::span<int64_t> values) {
  if (star_) return star_->reduce(how, values);
  static constexpr const char* names[] = {"all_max", "all_sum", "prefix_sum"};
  const bool before = how == Reduction::sum_before;
  meet(offer_of(names[static_cast<size_t>(how)], values), [&](Offers all) {
    std::vector<int64_t> result(values.size(), how == Reduction::max ? INT64_MIN : 0);
    for (const Offer& one : all)
      for (size_t i = 0; i < result.size(); ++i) {
        int64_t& own = values_of(one)[i];
        const int64_t known = result[i];
        result[i] = how == Reduction::max ? std::max(known, own) : known + own;
        if (before) own = known;
      }
    if (processes_) processes_->reduce(how, result);
    if (before && !processes_) return;
    for (const Offer& one : all)
      for (size_t i = 0; i < result.size(); ++i) {
        int64_t& own = values_of(one)[i];
        own = result[i] + (before ? own : 0);
      }
  });
}

Gathered TeamComm::gather(std::span<const std::byte> mine, int root) {
  if (star_) return star_->gather(mine, root);
  check_root(root, size());
  Gathered result;
  meet(
      {.call = "gather", .root = root, .source = mine.data(), .source_bytes = mine.size(), .result = &result},
      [&](Offers all) {
        Gathered joined;
        for (const Offer& one : all) joined.add({one.source, one.source_bytes});
        if (processes_) {
          Gathered own;
          add_process(own, joined.sizes, joined.bytes);
          const Gathered found = processes_->gather(own.bytes, process_of(root));
          joined = {};
          for (const auto process : found.pieces()) take_process(joined, process, all.size());
        }
        if (is_here(root)) *static_cast<Gathered*>(all[thread_of(root)].result) = std::move(joined);
      });
  return result;
}

std::vector<std::byte> TeamComm::scatter(const Gathered& pieces, int root) {
  if (star_) return star_->scatter(pieces, root);
  check_root(root, size());
  std::vector<std::byte> piece;
  const auto* const given = reinterpret_cast<const std::byte*>(&pieces);
  meet({.call = "scatter", .root = root, .source = given, .result = &piece}, [&](Offers all) {
    const Gathered nothing;
    const Gathered* joined =
        is_here(root) ? reinterpret_cast<const Gathered*>(all[thread_of(root)].source) : &nothing;
    Gathered own;
    if (processes_) {
      const Gathered packed = by_process(*joined, size(), all.size());
      take_process(own, processes_->scatter(packed, process_of(root)), all.size());
      joined = &own;
    }
    check_pieces(*joined, threads());
    const auto parts = joined->pieces();
    for (size_t t = 0; t < all.size(); ++t)
      static_cast<std::vector<std::byte>*>(all[t].result)->assign(parts[t].begin(), parts[t].end());
  });
  return piece;
}

// One meeting, in finish().
class TeamComm::TeamExchange final : public Exchange {
 public:
  TeamExchange(TeamComm& comm, std::vector<Outgoing> outgoing, std::vector<Incoming> incoming)
      : comm_(comm), lists_{std::move(outgoing), std::move(incoming), {}} {}

  std::vector<int64_t> finish() override {
    comm_.meet({.call = "exchange", .result = &lists_}, [&](Offers all) {
      std::vector<ExchangeLists*> lists;
      for (const Offer& one : all) lists.push_back(static_cast<ExchangeLists*>(one.result));
      if (comm_.processes_) {
        comm_.exchange_between(lists);
      } else {
        deliver(lists);
      }
    });
    return std::move(lists_.received);
  }

 private:
  TeamComm& comm_;
  ExchangeLists lists_;
};

// Messages between two processes are in the order of (sending thread, receiving thread), which both sides can
// tell. A process sends those between its threads to itself.
void TeamComm::exchange_between(std::span<ExchangeLists* const> threads) {
  struct Message {
    int process;
    size_t sender, receiver;  // threads
    size_t index;             // in the list of the thread here
    auto order() const { return std::tuple(process, sender, receiver); }
  };
  std::vector<Message> sent;
  std::vector<Message> wanted;
  for (size_t thread = 0; thread < threads.size(); ++thread) {
    ExchangeLists& lists = *threads[thread];
    lists.received.assign(lists.incoming.size(), 0);
    for (size_t i = 0; i < lists.outgoing.size(); ++i)
      sent.push_back({process_of(lists.outgoing[i].peer), thread, thread_of(lists.outgoing[i].peer), i});
    for (size_t i = 0; i < lists.incoming.size(); ++i)
      wanted.push_back({process_of(lists.incoming[i].peer), thread_of(lists.incoming[i].peer), thread, i});
  }
  std::ranges::stable_sort(sent, {}, &Message::order);
  std::ranges::stable_sort(wanted, {}, &Message::order);
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  for (const Message& m : sent) outgoing.push_back({m.process, threads[m.sender]->outgoing[m.index].bytes});
  for (const Message& m : wanted)
    incoming.push_back({m.process, threads[m.receiver]->incoming[m.index].room});
  const auto received = processes_->exchange(std::move(outgoing), std::move(incoming))->finish();
  for (size_t i = 0; i < wanted.size(); ++i)
    threads[wanted[i].receiver]->received[wanted[i].index] = received[i];
}

std::unique_ptr<Exchange> TeamComm::exchange(std::vector<Outgoing> outgoing, std::vector<Incoming> incoming) {
  if (star_) return star_->exchange(std::move(outgoing), std::move(incoming));
  check_exchange(outgoing, incoming, size());
  return std::make_unique<TeamExchange>(*this, std::move(outgoing), std::move(incoming));
}

std::unique_ptr<SharedMemory> TeamComm::share_memory(size_t bytes) {
  return is_hybrid_ || node_count() > 1 ? nullptr : share_process_memory(*this, bytes);
}

std::shared_ptr<ThreadTeam> make_thread_team(int size) {
  if (size < 1) throw Error(Code::invalid_argument, "a team of threads needs at least one");
  return std::make_shared<ThreadTeam>(size);
}

int thread_team_size(const ThreadTeam& team) { return team.size(); }

std::unique_ptr<Comm> thread_comm(std::shared_ptr<ThreadTeam> team, int rank) {
  check_root(rank, team->size());
  return std::make_unique<TeamComm>(TeamComm::Membership{std::move(team), rank}, rank);
}

std::unique_ptr<Comm> hybrid_comm(std::unique_ptr<Comm> processes, std::unique_ptr<Comm> threads) {
  return TeamComm::of_processes({threads->thread_team(), threads->rank()}, std::move(processes));
}

}  // namespace sheaf
