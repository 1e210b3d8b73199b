// comm/threads/thread_team: the barrier of the threads of a process. Private to this folder.
//
// In one barrier all members make the same collective call. Each member publishes its arguments, and one of
// them performs the call for all, directly in the memory of the waiting members. Waiting members sleep, so a
// team may have more threads than the machine has cores.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "comm/agree.hpp"

namespace sheaf {

// The call that a member makes, and its arguments.
struct Offer {
  const char* call = nullptr;
  int root = 0;
  size_t length = 0;          // bytes that must be equal on all members
  std::byte* data = nullptr;  // input and output
  const void* source = nullptr;
  void* result = nullptr;
  int color = 0;
  int key = 0;
};
using Offers = std::span<Offer>;

class ThreadTeam {
 public:
  // The member that performs the call: the last one to arrive, which saves a wake-up, or member 0, if only
  // member 0 may communicate with other processes.
  enum class Actor { last, first };

  explicit ThreadTeam(int members) : offers_(static_cast<size_t>(members)) {}

  int size() const { return static_cast<int>(offers_.size()); }

  // Publishes `mine` and waits. Returns when all members have arrived and one member has run its act(offers).
  // Every member must pass the same `actor`. Throws on all members what act() threw, or mismatch if the
  // members make different calls.
  template <class Act>
  void run_together(int rank, Actor actor, const Offer& mine, Act&& act) {
    SHEAF_ASSERT(rank >= 0 && rank < size() && mine.call);
    offers_[static_cast<size_t>(rank)] = mine;
    if (size() == 1) return act(Offers(offers_));
    const uint32_t barrier = barriers_.load(std::memory_order_relaxed);
    std::optional<Error>& outcome = outcomes_[barrier % 2];
    if (comes_as_actor(rank, actor)) {
      outcome = attempt([&] {
        check_calls();
        act(Offers(offers_));
      });
      const std::optional<Error> mine_too = outcome;  // the slot may be reused once others continue
      arrived_.store(0, std::memory_order_relaxed);
      barriers_.store(barrier + 1, std::memory_order_release);
      barriers_.notify_all();
      if (mine_too) throw *mine_too;
      return;
    }
    while (barriers_.load(std::memory_order_acquire) == barrier)
      barriers_.wait(barrier, std::memory_order_acquire);
    // No member can be two barriers ahead, so the slot still holds the outcome of this one.
    if (outcome) throw *outcome;
  }

 private:
  // Counts the member as arrived. Returns true on the member that performs the call, once all have arrived.
  bool comes_as_actor(int rank, Actor actor) {
    int here = arrived_.fetch_add(1, std::memory_order_acq_rel) + 1;
    SHEAF_ASSERT(here <= size());  // no member arrives twice
    if (actor == Actor::last) return here == size();
    if (here == size()) arrived_.notify_all();
    if (rank != 0) return false;
    for (; here < size(); here = arrived_.load(std::memory_order_acquire)) arrived_.wait(here);
    return true;
  }

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
  std::atomic<uint32_t> barriers_{0};
  std::optional<Error> outcomes_[2];
};

}  // namespace sheaf
