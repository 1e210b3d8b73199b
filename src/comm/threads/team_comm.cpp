#include "comm/threads/team_comm.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "base/assert.hpp"
#include "comm/reduce.hpp"
#include "comm/shared_memory.hpp"
#include "comm/threads/hybrid_comm.hpp"
#include "comm/threads/thread_comm.hpp"

namespace sheaf {
namespace {

std::span<int64_t> values_of(const Offer& one) {
  return {reinterpret_cast<int64_t*>(one.data), one.length / sizeof(int64_t)};
}

// Packs pieces for all threads into one piece per process. Returns an empty result if `pieces` is
// inconsistent; all tasks then throw.
Gathered by_process(const Gathered& pieces, int tasks, size_t threads) {
  Gathered all;
  if (!is_consistent(pieces, tasks)) return all;
  Gathered process;
  for (const auto piece : pieces.pieces()) {
    process.add(piece);
    if (process.sizes.size() == threads) all.add(std::exchange(process, {}).packed());
  }
  return all;
}

}  // namespace

std::unique_ptr<Comm> TeamComm::of_processes(Membership own, std::unique_ptr<Comm> processes) {
  SHEAF_ASSERT((own.rank == 0) == (processes != nullptr));
  auto comm = std::make_unique<TeamComm>(std::move(own), 0);
  comm->is_hybrid_ = true;
  comm->processes_ = std::move(processes);
  comm->run_together({.call = "hybrid_comm", .result = comm.get()}, [&](Offers all) {
    Comm& between = *comm->processes_;
    MinMax sizes(comm->threads());
    sheaf::reduce(between, sizes);
    if (!sizes.is_same())
      throw Error(Code::mismatch, "the processes have teams of different sizes, " +
                                      std::to_string(sizes.min) + " to " + std::to_string(sizes.max) +
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
  run_together({.call = "barrier"}, [&](Offers) {
    if (processes_) processes_->barrier();
  });
}

void TeamComm::broadcast(std::span<std::byte> data, int root) {
  if (star_) return star_->broadcast(data, root);
  check_root(root, size());
  run_together({.call = "broadcast", .root = root, .length = data.size(), .data = data.data()},
               [&](Offers all) {
                 const Offer& from = all[is_here(root) ? thread_of(root) : 0];
                 if (processes_) processes_->broadcast({from.data, from.length}, process_of(root));
                 for (const Offer& to : all)
                   if (&to != &from && to.length > 0) std::memcpy(to.data, from.data, to.length);
               });
}

void TeamComm::reduce(Reduction how, std::span<int64_t> values) {
  if (star_) return star_->reduce(how, values);
  static constexpr const char* names[] = {"all_max", "all_sum", "prefix_sum"};
  const bool before = how == Reduction::exclusive_scan;
  const auto bytes = std::as_writable_bytes(values);
  run_together({.call = names[static_cast<size_t>(how)], .length = bytes.size(), .data = bytes.data()},
               [&](Offers all) {
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
  run_together({.call = "gather", .root = root, .source = &mine, .result = &result}, [&](Offers all) {
    Gathered joined;
    for (const Offer& one : all) joined.add(*static_cast<const std::span<const std::byte>*>(one.source));
    if (processes_) {
      const Gathered found = processes_->gather(joined.packed(), process_of(root));
      joined = {};
      for (const auto process : found.pieces()) {
        const Gathered threads = Gathered::unpacked(process, all.size());
        for (const auto piece : threads.pieces()) joined.add(piece);
      }
    }
    if (is_here(root)) *static_cast<Gathered*>(all[thread_of(root)].result) = std::move(joined);
  });
  return result;
}

std::vector<std::byte> TeamComm::scatter(const Gathered& pieces, int root) {
  if (star_) return star_->scatter(pieces, root);
  check_root(root, size());
  std::vector<std::byte> piece;
  run_together({.call = "scatter", .root = root, .source = &pieces, .result = &piece}, [&](Offers all) {
    const Gathered nothing;
    const Gathered* joined =
        is_here(root) ? static_cast<const Gathered*>(all[thread_of(root)].source) : &nothing;
    Gathered own;
    if (processes_) {
      const Gathered packed = by_process(*joined, size(), all.size());
      own = Gathered::unpacked(processes_->scatter(packed, process_of(root)), all.size());
      joined = &own;
    }
    check_pieces(*joined, threads());
    const auto parts = joined->pieces();
    for (size_t t = 0; t < all.size(); ++t)
      static_cast<std::vector<std::byte>*>(all[t].result)->assign(parts[t].begin(), parts[t].end());
  });
  return piece;
}

// An exchange that takes one barrier, in finish().
class TeamComm::TeamExchange final : public Exchange {
 public:
  TeamExchange(TeamComm& comm, std::vector<Outgoing> outgoing, std::vector<Incoming> incoming)
      : comm_(comm), lists_{std::move(outgoing), std::move(incoming), {}} {}

  std::vector<int64_t> finish() override {
    comm_.run_together({.call = "exchange", .result = &lists_}, [&](Offers all) {
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

// Messages between two processes are ordered by (sending thread, receiving thread). Both processes know these
// numbers, so messages need no labels. A process sends the messages between its own threads to itself.
void TeamComm::exchange_between(std::span<ExchangeLists* const> threads) {
  using Route = std::tuple<int, size_t, size_t>;  // peer process, sending thread, receiving thread
  struct Wanted {
    std::span<std::byte> room;
    int64_t& received;
  };
  std::multimap<Route, std::span<const std::byte>> sent;  // messages of one route in insertion order
  std::multimap<Route, Wanted> wanted;
  for (size_t thread = 0; thread < threads.size(); ++thread) {
    ExchangeLists& lists = *threads[thread];
    lists.received.assign(lists.incoming.size(), 0);
    for (const Outgoing& m : lists.outgoing)
      sent.emplace(Route(process_of(m.peer), thread, thread_of(m.peer)), m.bytes);
    for (size_t i = 0; i < lists.incoming.size(); ++i) {
      const Incoming& m = lists.incoming[i];
      wanted.emplace(Route(process_of(m.peer), thread_of(m.peer), thread), Wanted{m.room, lists.received[i]});
    }
  }
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  for (const auto& [route, bytes] : sent) outgoing.push_back({std::get<0>(route), bytes});
  for (const auto& [route, message] : wanted) incoming.push_back({std::get<0>(route), message.room});
  const auto received = processes_->exchange(std::move(outgoing), std::move(incoming))->finish();
  auto bytes = received.begin();
  for (const auto& [route, message] : wanted) message.received = *bytes++;
}

std::unique_ptr<Exchange> TeamComm::exchange(std::vector<Outgoing> outgoing, std::vector<Incoming> incoming) {
  if (star_) return star_->exchange(std::move(outgoing), std::move(incoming));
  check_exchange(outgoing, incoming, size());
  return std::make_unique<TeamExchange>(*this, std::move(outgoing), std::move(incoming));
}

std::shared_ptr<SharedMemory> TeamComm::share_memory(size_t bytes) {
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
