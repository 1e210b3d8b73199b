// exchange/host_exchange: what an aggregator does for its host in a collective transfer of several hosts,
// between the stage and the other hosts.
//
// A plan holds, for every window of the aggregator's lane, the runs of bytes that this host has there, and,
// for those that it owns, the runs of all hosts. It stays as long as no task wants anything else. Data then
// travel in rounds of one window of each owner: to the owner in writing, from there in reading, only bytes of
// runs.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/comm.hpp"
#include "exchange/hosts.hpp"
#include "exchange/run_code.hpp"
#include "exchange/stage_call.hpp"
#include "exchange/transfer/hosts_file.hpp"
#include "exchange/transfer/independent.hpp"
#include "exchange/transfer/tally.hpp"
#include "storage/file.hpp"

namespace sheaf::exchange {

class HostExchange {
 public:
  explicit HostExchange(Hosts& hosts) : hosts_(hosts), lane_(hosts.lane()) {}

  // Collective over the aggregators. Tasks of the host mark in the maps of `call`, whose windows are those of
  // the transfers to come, what they have; `marks` is this task's pass. Nothing is thrown; returns what went
  // wrong in this lane: nothing is transferred then.
  template <class Mark>
  std::optional<Error> plan(const StageCall& call, PutPass& marks, Mark mark);

  // Whether a window of this aggregator's has `least` gaps, no longer than `longest` bytes, between what is
  // in the plan.
  bool leaves_gaps(int64_t least, int64_t longest) const;

  // Collective over the aggregators, by the plan. `own`: this task's pass, which copies by `copy`. Nothing is
  // thrown; returns what went wrong here. `overlap`: the file works while messages travel.
  template <class Copy>
  std::optional<Error> write(const StageCall& call, PutPass& own, Copy copy, File& file, Sieving sieving,
                             bool overlap, Tally& tally);
  template <class Copy>
  std::optional<Error> read(const StageCall& call, TakePass& own, Copy copy, File& file, bool overlap,
                            Tally& tally);

 private:
  // Of a window of this lane.
  struct Window {
    struct Theirs {
      int host = 0;
      Runs runs;
    };
    Runs ours;
    std::vector<Theirs> theirs;  // at the owner
  };
  // Bytes of runs on their way, from or for the window `number`.
  struct Message {
    uint64_t number = 0;
    const Runs* runs = nullptr;
    std::unique_ptr<std::byte[]> memory;
  };
  struct Round {
    std::vector<Message> came, sent;
    std::unique_ptr<Exchange> exchange;

    // Adds a message, with memory for it.
    static std::span<std::byte> add(std::vector<Message>& to, uint64_t number, const Runs& runs) {
      const auto bytes = static_cast<size_t>(runs.bytes);
      return {to.emplace_back(Message{number, &runs, std::make_unique_for_overwrite<std::byte[]>(bytes)})
                  .memory.get(),
              bytes};
    }
  };
  // Owners of the lane are counted from 0 on.
  uint64_t number_of(const StageCall& call, int64_t round, size_t owner) const {
    return call.begin() + static_cast<uint64_t>(round * call.windows().owners + hosts_.first_owner()) + owner;
  }
  Window& window_of(int64_t round, size_t owner) {
    static Window none;
    return windows_.empty() ? none : windows_[static_cast<size_t>(round) * owners() + owner];
  }
  bool is_mine(size_t owner) const { return hosts_.owner_hosts()[owner] == hosts_.me(); }
  size_t owners() const { return hosts_.owner_hosts().size(); }
  uint64_t end_of(const StageCall& call, int64_t round) const {
    return call.begin() + static_cast<uint64_t>((round + 1) * call.windows().owners);
  }

  void collect_runs(const StageCall& call, int64_t round);
  // A code begins with its length behind that.
  static constexpr size_t code_head = sizeof(int64_t);
  // Codes from the hosts of the lane, by host, and their whole lengths.
  struct Told {
    std::vector<std::vector<std::byte>> codes;
    std::vector<int64_t> lengths;
  };
  bool tell_owners(const StageCall& call, Told& told);
  void tell_rest(const StageCall& call, Told& told);
  void learn(const StageCall& call, std::span<const std::byte> code, int host);
  void start_write(const StageCall& call, int64_t round, Round& r, Tally& tally);
  void finish_write(const StageCall& call, Round& r);
  void write_out(const StageCall& call, int64_t round, File& file, Sieving sieving, Tally& tally);
  void read_in(const StageCall& call, int64_t round, File& file, Tally& tally);
  void start_read(const StageCall& call, int64_t round, Round& r, Tally& tally);
  void finish_read(const StageCall& call, int64_t round, Round& r);
  // use(host, number, window) for the windows of a round that are this aggregator's, or for the others: of
  // whom each is.
  template <class Use>
  void for_each_window(const StageCall& call, int64_t round, bool mine, Use use) {
    for (size_t owner = 0; owner < owners(); ++owner)
      if (is_mine(owner) == mine)
        use(hosts_.owner_hosts()[owner], number_of(call, round, owner), window_of(round, owner));
  }

  Hosts& hosts_;
  Comm& lane_;
  std::vector<Window> windows_;                // round by round, in a round by owner
  std::vector<std::vector<std::byte>> codes_;  // of a plan that is being made, for the owners of the lane
  std::optional<Error> problem_;               // of the transfer
};

template <class Mark>
std::optional<Error> HostExchange::plan(const StageCall& call, PutPass& marks, Mark mark) {
  const int64_t rounds = call.windows().rounds();
  problem_.reset();
  windows_.clear();
  attempt(problem_, [&] { windows_.resize(static_cast<size_t>(rounds) * owners()); });
  codes_.assign(owners(), std::vector<std::byte>(code_head));
  for (int64_t round = 0; round < rounds; ++round) {
    marks.go(end_of(call, round), mark, [](uint64_t) {});
    collect_runs(call, round);
  }
  Told told;
  int64_t more = 0;
  attempt(problem_, [&] { more = tell_owners(call, told); });
  attempt(problem_, [&] { agree(lane_, problem_, std::span(&more, 1)); });
  if (!problem_ && more != 0) {
    attempt(problem_, [&] { tell_rest(call, told); });
    attempt(problem_, [&] { agree(lane_, problem_); });
  }
  codes_.clear();
  if (problem_) windows_.clear();
  return problem_;
}

template <class Copy>
std::optional<Error> HostExchange::write(const StageCall& call, PutPass& own, Copy copy, File& file,
                                         Sieving sieving, bool overlap, Tally& tally) {
  problem_.reset();
  for (int64_t round = 0; round < call.windows().rounds(); ++round) {
    own.go(end_of(call, round), copy, [](uint64_t) {});
    Round r;
    start_write(call, round, r, tally);
    if (overlap && round > 0) write_out(call, round - 1, file, sieving, tally);
    finish_write(call, r);
    if (!overlap) write_out(call, round, file, sieving, tally);
  }
  if (overlap) write_out(call, call.windows().rounds() - 1, file, sieving, tally);
  attempt(problem_, [&] { to_server(file); });
  return problem_;
}

template <class Copy>
std::optional<Error> HostExchange::read(const StageCall& call, TakePass& own, Copy copy, File& file,
                                        bool overlap, Tally& tally) {
  problem_.reset();
  const int64_t rounds = call.windows().rounds();
  read_in(call, 0, file, tally);
  for (int64_t round = 0; round < rounds; ++round) {
    Round r;
    start_read(call, round, r, tally);
    if (overlap && round + 1 < rounds) read_in(call, round + 1, file, tally);
    finish_read(call, round, r);
    own.go(
        end_of(call, round), copy, [](uint64_t) {}, uint64_t{0});
    if (!overlap && round + 1 < rounds) read_in(call, round + 1, file, tally);
  }
  return problem_;
}

}  // namespace sheaf::exchange
