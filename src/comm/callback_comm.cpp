#include "comm/callback_comm.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/helpers.hpp"
#include "comm/host_name.hpp"
#include "comm/star_comm.hpp"

namespace sheaf {
namespace {

// What can fail in a round; travels as a number.
enum class Part : int64_t { none, barrier, bcastr, gatherr, gathervr, scatterr, scattervr, create, size, answer };

struct Failure {
  Part part = Part::none;
  int64_t result = 0;

  std::string text() const {
    static constexpr const char* names[] = {"",         "barrier",   "bcastr",
                                            "gatherr",  "gathervr",  "scatterr",
                                            "scattervr", "create_local_commgroup"};
    if (part == Part::size) return "messages of more than 2 GiB do not fit through the callbacks";
    if (part == Part::answer) return "the messages of the tasks make no sense, or there is no memory for them";
    return std::string("the ") + names[static_cast<size_t>(part)] + " callback returned " + std::to_string(result);
  }
};

class CallbackHub final : public StarHub {
 public:
  CallbackHub(const CommCallbacks& callbacks, void* group, int rank, int size)
      : call_(callbacks), group_(group), rank_(rank), size_(size) {}
  ~CallbackHub() override {
    if (local_made_) call_.free_group(local_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  int64_t node() override {
    return static_cast<int64_t>(std::hash<std::string>{}(host_name()) >> 1);
  }
  int tasks_per_node() override {
    const char* const topology = std::getenv("SHEAF_TOPOLOGY");
    return topology ? sheaf::tasks_per_node(topology) : 0;
  }

  std::vector<std::byte> round(std::span<const std::byte> mine, const Answer& answer) override {
    if (dead_) throw *dead_;
    const Gathered calls = collect(mine);
    Gathered replies;
    if (is_root() && !calls.sizes.empty() && attempt([&] { replies = answer(calls); })) note(Part::answer, 0);
    std::vector<std::byte> reply = hand_out(replies);
    agree_on_failures();
    return reply;
  }

  void make_local(const LocalGroup& local) {
    if (dead_) throw *dead_;
    note(Part::create, call_.create_group(&local_, group_, rank_, size_, local.rank, local.size, local.filenumber, local.numfiles));
    local_made_ = failure_.part != Part::create;
    note(Part::barrier, call_.barrier(group_));
    // The next round tells everyone.
  }

  void* local() const { return local_; }

 private:
  bool is_root() const { return rank_ == 0; }

  // Keeps the first failure until it has been told.
  void note(Part part, int result) {
    const bool failed = part == Part::answer || part == Part::size || result != 0;
    if (failed && failure_.part == Part::none) failure_ = {part, result};
  }

  // Sizes as int counts; empty if they are no sizes or too much for int.
  static std::vector<int> counts_of(std::span<const int64_t> sizes) {
    int64_t total = 0;
    std::vector<int> counts;
    for (const int64_t size : sizes) {
      if (size < 0 || size > INT_MAX || (total += size) > INT_MAX) return {};
      counts.push_back(static_cast<int>(size));
    }
    return counts;
  }

  // Contributions of all at the root; empty there if they could not be had.
  Gathered collect(std::span<const std::byte> mine) {
    Gathered calls;
    calls.sizes.resize(is_root() ? static_cast<size_t>(size_) : 1, -1);
    int64_t length = std::ssize(mine);
    note(Part::gatherr, call_.gatherr(&length, calls.sizes.data(), group_, CommCallbacks::int64, 1, 0));
    std::vector<int> counts;
    int32_t go = 1;
    if (is_root()) {
      counts = counts_of(calls.sizes);
      if (counts.empty()) note(Part::size, 0);
      go = !counts.empty();
    }
    note(Part::bcastr, call_.bcastr(&go, group_, CommCallbacks::int32, 1, 0));
    if (!go) return {};
    calls.bytes.resize(static_cast<size_t>(std::accumulate(counts.begin(), counts.end(), int64_t{0})));
    note(Part::gathervr, call_.gathervr(const_cast<std::byte*>(mine.data()), calls.bytes.data(), group_,
                                        CommCallbacks::bytes, counts.data(), static_cast<int>(length), 0));
    if (!is_root() || failure_.part != Part::none) return {};
    return calls;
  }

  // Piece r of the root's replies to task r.
  std::vector<std::byte> hand_out(Gathered& replies) {
    std::vector<int> counts;
    if (is_root()) {
      counts = counts_of(replies.sizes);
      if (counts.empty()) {
        if (!replies.sizes.empty()) note(Part::size, 0);
        replies = {{}, std::vector<int64_t>(static_cast<size_t>(size_))};
        counts.assign(static_cast<size_t>(size_), 0);
      }
    }
    int64_t length = 0;
    note(Part::scatterr, call_.scatterr(replies.sizes.data(), &length, group_, CommCallbacks::int64, 1, 0));
    if (length < 0 || length > INT_MAX) {
      note(Part::size, 0);
      length = 0;
    }
    std::vector<std::byte> reply(static_cast<size_t>(length));
    note(Part::scattervr, call_.scattervr(reply.data(), replies.bytes.data(), group_, CommCallbacks::bytes, counts.data(),
                                          static_cast<int>(length), 0));
    return reply;
  }

  // Throws on all tasks if a callback has failed on any, and makes the group dead.
  void agree_on_failures() {
    int64_t mine[2] = {static_cast<int64_t>(failure_.part), failure_.result};
    std::vector<int64_t> all(is_root() ? 2 * static_cast<size_t>(size_) : 2);
    note(Part::gatherr, call_.gatherr(mine, all.data(), group_, CommCallbacks::int64, 2, 0));
    constexpr int64_t nobody = -1;
    constexpr int64_t untold = -2;
    int64_t verdict[3] = {is_root() ? nobody : untold, 0, 0};
    if (is_root()) {
      all[0] = static_cast<int64_t>(failure_.part);
      all[1] = failure_.result;
      for (size_t r = 0; r < static_cast<size_t>(size_) && verdict[0] == nobody; ++r)
        if (all[2 * r] != 0) std::ranges::copy(std::array{static_cast<int64_t>(r), all[2 * r], all[2 * r + 1]}, verdict);
    }
    note(Part::bcastr, call_.bcastr(verdict, group_, CommCallbacks::int64, 3, 0));
    if (verdict[0] == nobody) return;  // a failure noted since the gather is told in the next round
    if (verdict[0] == untold || failure_.part != Part::none) {
      dead_ = Error(Code::io, failure_.part == Part::none ? "the bcastr callback has brought nothing" : failure_.text());
    } else {
      const auto part = static_cast<Part>(std::clamp<int64_t>(verdict[1], 0, static_cast<int64_t>(Part::answer)));
      const auto task = static_cast<int>(verdict[0]);
      dead_ = Error(Code::io, "task " + std::to_string(task) + ": " + Failure{part, verdict[2]}.text(), 0, task);
    }
    throw *dead_;
  }

  const CommCallbacks call_;
  void* const group_;
  const int rank_;
  const int size_;
  void* local_ = nullptr;
  bool local_made_ = false;
  Failure failure_;            // not told yet
  std::optional<Error> dead_;  // what all know
};

CallbackHub* hub_behind(const Comm& comm) { return dynamic_cast<CallbackHub*>(star_hub_of(comm)); }

}  // namespace

std::unique_ptr<Comm> callback_comm(const CommCallbacks& callbacks, void* group, int rank, int size) {
  if (size < 1 || rank < 0 || rank >= size)
    throw Error(Code::invalid_argument, "rank " + std::to_string(rank) + " is not in a group of " + std::to_string(size));
  return star_comm(std::make_shared<CallbackHub>(callbacks, group, rank, size));
}

void make_local_group(Comm& comm, const LocalGroup& local) {
  CallbackHub* const hub = hub_behind(comm);
  if (!hub) throw Error(Code::wrong_mode, "the tasks do not talk through callbacks");
  hub->make_local(local);
  comm.barrier();
}

void* local_group_of(const Comm& comm) {
  CallbackHub* const hub = hub_behind(comm);
  return hub ? hub->local() : nullptr;
}

}  // namespace sheaf
