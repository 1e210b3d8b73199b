#include "comm_teams/thread_comm.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/helpers.hpp"
#include "comm/shared_memory.hpp"

namespace sheaf {

namespace {

struct Family {
  Traffic traffic;
  int number = 0;  // rank in the team that thread_comm() was given
};

struct Membership {
  std::shared_ptr<ThreadTeam> team;
  int rank = 0;
};

}  // namespace

class ThreadTeam {
 public:
  // What a member brings to a meeting: which call it makes, and where its arguments are.
  struct Offer {
    const char* call = nullptr;
    int root = 0;
    size_t length = 0;          // bytes that must be the same everywhere
    std::byte* data = nullptr;  // in and out
    const std::byte* source = nullptr;
    size_t source_bytes = 0;
    void* result = nullptr;
    int color = 0;
    int key = 0;
  };

  explicit ThreadTeam(int members) : offers_(static_cast<size_t>(members)) {}

  int size() const { return static_cast<int>(offers_.size()); }

  // Comes with `mine`; returns when all have come and the last one has run `act(offers)`. Throws on all
  // members what that threw, or mismatch.
  template <class Act>
  void meet(int rank, const Offer& mine, Act&& act) {
    offers_[static_cast<size_t>(rank)] = mine;
    if (size() == 1) return act(std::span<Offer>(offers_));
    const uint32_t meeting = meetings_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) == size() - 1) {
      std::optional<Error>& outcome = outcomes_[meeting % 2];
      outcome = attempt([&] {
        check_calls();
        act(std::span<Offer>(offers_));
      });
      const std::optional<Error> mine_too = outcome;  // the slot may be reused once the others go on
      arrived_.store(0, std::memory_order_relaxed);
      meetings_.store(meeting + 1, std::memory_order_release);
      meetings_.notify_all();
      if (mine_too) throw *mine_too;
      return;
    }
    while (meetings_.load(std::memory_order_acquire) == meeting)
      meetings_.wait(meeting, std::memory_order_acquire);
    // Nobody can be two meetings ahead, so the slot still holds this one's outcome.
    if (const std::optional<Error>& outcome = outcomes_[meeting % 2]) throw *outcome;
  }

 private:
  void check_calls() const {
    const Offer& first = offers_[0];
    for (size_t r = 1; r < offers_.size(); ++r) {
      const Offer& other = offers_[r];
      if (std::strcmp(first.call, other.call) == 0 && first.root == other.root &&
          first.length == other.length)
        continue;
      const auto name = [](const Offer& o) {
        return std::string(o.call) + " (root " + std::to_string(o.root) + ", " + std::to_string(o.length) +
               " bytes)";
      };
      throw Error(Code::mismatch, "the threads of a group made different calls: thread 0 " + name(first) +
                                      ", thread " + std::to_string(r) + " " + name(other));
    }
  }

  std::vector<Offer> offers_;
  std::atomic<int> arrived_{0};
  std::atomic<uint32_t> meetings_{0};
  std::optional<Error> outcomes_[2];
};

namespace {

using Offer = ThreadTeam::Offer;
using Offers = std::span<Offer>;

class ThreadComm final : public Comm {
 public:
  ThreadComm(Membership own, std::shared_ptr<Family> family)
      : team_(std::move(own.team)), family_(std::move(family)), rank_(own.rank) {}

  int rank() const override { return rank_; }
  int size() const override { return team_->size(); }

  void barrier() override {
    count(0);
    meet({.call = "barrier"}, [](Offers) {});
  }

  void broadcast(std::span<std::byte> data, int root) override {
    check_root(root, size());
    count(rank_ == root ? data.size() : 0);
    meet({.call = "broadcast", .root = root, .length = data.size(), .data = data.data()}, [root](Offers all) {
      const Offer& from = all[static_cast<size_t>(root)];
      for (const Offer& to : all)
        if (&to != &from && to.length > 0) std::memcpy(to.data, from.data, to.length);
    });
  }

  void all_max(std::span<int64_t> values) override {
    reduce("all_max", values, [](int64_t a, int64_t b) { return std::max(a, b); });
  }
  void all_sum(std::span<int64_t> values) override {
    reduce("all_sum", values, [](int64_t a, int64_t b) { return a + b; });
  }

  void prefix_sum(std::span<int64_t> values) override {
    count(values.size_bytes());
    meet(offer_of("prefix_sum", values), [](Offers all) {
      std::vector<int64_t> sums(all[0].length / sizeof(int64_t));
      for (const Offer& one : all)
        for (size_t i = 0; i < sums.size(); ++i) {
          int64_t& place = reinterpret_cast<int64_t*>(one.data)[i];
          sums[i] += std::exchange(place, sums[i]);
        }
    });
  }

  Gathered gather(std::span<const std::byte> mine, int root) override {
    check_root(root, size());
    count(mine.size());
    Gathered joined;
    meet({.call = "gather",
          .root = root,
          .source = mine.data(),
          .source_bytes = mine.size(),
          .result = &joined},
         [root](Offers all) {
           auto& result = *static_cast<Gathered*>(all[static_cast<size_t>(root)].result);
           size_t total = 0;
           for (const Offer& one : all) total += one.source_bytes;
           result.sizes.reserve(all.size());
           result.bytes.reserve(total);
           for (const Offer& one : all) {
             result.sizes.push_back(static_cast<int64_t>(one.source_bytes));
             result.bytes.insert(result.bytes.end(), one.source, one.source + one.source_bytes);
           }
         });
    return joined;
  }

  std::vector<std::byte> scatter(const Gathered& pieces, int root) override {
    check_root(root, size());
    count(rank_ == root ? pieces.bytes.size() : 0);
    std::vector<std::byte> piece;
    const auto* const given = reinterpret_cast<const std::byte*>(&pieces);
    meet({.call = "scatter", .root = root, .source = given, .result = &piece}, [root](Offers all) {
      const auto& joined = *reinterpret_cast<const Gathered*>(all[static_cast<size_t>(root)].source);
      check_pieces(joined, static_cast<int>(all.size()));
      const std::byte* next = joined.bytes.data();
      for (size_t r = 0; r < all.size(); ++r) {
        static_cast<std::vector<std::byte>*>(all[r].result)->assign(next, next + joined.sizes[r]);
        next += joined.sizes[r];
      }
    });
    return piece;
  }

  void scatter_equal(std::span<const std::byte> pieces, std::span<std::byte> mine, int root) override {
    check_root(root, size());
    count(rank_ == root ? pieces.size() : 0);
    meet({.call = "scatter_equal",
          .root = root,
          .length = mine.size(),
          .data = mine.data(),
          .source = pieces.data(),
          .source_bytes = pieces.size()},
         [root](Offers all) {
           const Offer& from = all[static_cast<size_t>(root)];
           check_equal_pieces(from.source_bytes, from.length, static_cast<int>(all.size()));
           if (from.length == 0) return;
           for (size_t r = 0; r < all.size(); ++r)
             std::memcpy(all[r].data, from.source + r * from.length, from.length);
         });
  }

  std::unique_ptr<Exchange> exchange(std::vector<Outgoing> outgoing,
                                     std::vector<Incoming> incoming) override {
    check_exchange(outgoing, incoming, size());
    return std::make_unique<ThreadExchange>(*this, std::move(outgoing), std::move(incoming));
  }

  std::unique_ptr<Comm> split(int color, int key) override {
    count(split_bytes);
    return split_off("split", color, key);
  }

  std::unique_ptr<Comm> duplicate() override {
    count(0);
    return split_off("duplicate", 0, rank_);
  }

  std::unique_ptr<SharedMemory> share_memory(size_t bytes) override {
    return node_count() > 1 ? nullptr : share_process_memory(*this, bytes);
  }

  std::unique_ptr<Comm> split_by_node() override {
    count(0);
    Membership own;
    meet({.call = "split_by_node", .result = &own, .key = family_->number}, [](Offers all) {
      const char* const topology = std::getenv("SHEAF_TOPOLOGY");
      const int per_node = topology ? tasks_per_node(topology) : 0;
      for (Offer& one : all) {
        one.color = per_node > 0 ? one.key / per_node : 0;
        one.key = 0;
      }
      divide(all);
    });
    return std::make_unique<ThreadComm>(std::move(own), family_);
  }

  Traffic traffic() const override { return family_->traffic; }

  const void* thread_team() const override { return team_.get(); }

 private:
  // One meeting, in finish().
  class ThreadExchange final : public Exchange {
   public:
    ThreadExchange(ThreadComm& comm, std::vector<Outgoing> outgoing, std::vector<Incoming> incoming)
        : comm_(comm), lists_{std::move(outgoing), std::move(incoming), {}} {}

    std::vector<int64_t> finish() override {
      comm_.count(static_cast<size_t>(bytes_of(lists_.outgoing)));
      comm_.meet({.call = "exchange", .result = &lists_}, [](Offers all) {
        std::vector<ExchangeLists*> lists;
        lists.reserve(all.size());
        for (const Offer& one : all) lists.push_back(static_cast<ExchangeLists*>(one.result));
        deliver(lists);
      });
      return std::move(lists_.received);
    }

   private:
    ThreadComm& comm_;
    ExchangeLists lists_;
  };

  void count(size_t bytes) { count_collective(family_->traffic, size(), static_cast<int64_t>(bytes)); }

  template <class Act>
  void meet(const Offer& mine, Act&& act) {
    team_->meet(rank_, mine, act);
  }

  static Offer offer_of(const char* call, std::span<int64_t> values) {
    return {.call = call, .length = values.size_bytes(), .data = reinterpret_cast<std::byte*>(values.data())};
  }

  template <class Combine>
  void reduce(const char* call, std::span<int64_t> values, Combine combine) {
    count(values.size_bytes());
    meet(offer_of(call, values), [combine](Offers all) {
      const auto at = [](const Offer& one, size_t i) -> int64_t& {
        return reinterpret_cast<int64_t*>(one.data)[i];
      };
      for (size_t i = 0; i < all[0].length / sizeof(int64_t); ++i) {
        int64_t result = at(all[0], i);
        for (const Offer& one : all.subspan(1)) result = combine(result, at(one, i));
        for (const Offer& one : all) at(one, i) = result;
      }
    });
  }

  // Makes one team per color and gives everyone its place.
  static void divide(Offers all) {
    std::map<int, std::vector<std::pair<int, Offer*>>> groups;
    for (Offer& one : all)
      if (one.color >= 0) groups[one.color].emplace_back(one.key, &one);
    for (auto& [color, members] : groups) {
      std::ranges::stable_sort(members, {}, [](const auto& member) { return member.first; });
      const auto team = std::make_shared<ThreadTeam>(static_cast<int>(members.size()));
      int rank = 0;
      for (const auto& [key, offer] : members) *static_cast<Membership*>(offer->result) = {team, rank++};
    }
  }

  std::unique_ptr<Comm> split_off(const char* call, int color, int key) {
    Membership own;
    meet({.call = call, .result = &own, .color = color, .key = key}, divide);
    if (!own.team) return nullptr;
    return std::make_unique<ThreadComm>(std::move(own), family_);
  }

  std::shared_ptr<ThreadTeam> team_;
  std::shared_ptr<Family> family_;
  int rank_;
};

}  // namespace

std::shared_ptr<ThreadTeam> make_thread_team(int size) {
  if (size < 1) throw Error(Code::invalid_argument, "a team of threads needs at least one");
  return std::make_shared<ThreadTeam>(size);
}

int thread_team_size(const void* team) { return static_cast<const ThreadTeam*>(team)->size(); }

std::unique_ptr<Comm> thread_comm(std::shared_ptr<ThreadTeam> team, int rank) {
  check_root(rank, team->size());
  auto family = std::make_shared<Family>();
  family->number = rank;
  return std::make_unique<ThreadComm>(Membership{std::move(team), rank}, std::move(family));
}

}  // namespace sheaf
