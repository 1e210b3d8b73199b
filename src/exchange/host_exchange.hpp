// exchange/host_exchange: an aggregator's side of a collective transfer between hosts. The aggregator moves
// bytes between the window pool of its host and the other hosts.
//
// An exchange plan lists the byte runs of this host in every window of the aggregator channel. For windows
// that this aggregator owns, it lists the runs of all hosts. The plan stays valid until a task changes its
// access signature. A transfer that follows the plan runs in rounds of one window per owner. Aggregators send
// the bytes of runs, and no others, to the owner in a write and from the owner in a read.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/comm.hpp"
#include "exchange/host_map.hpp"
#include "exchange/run_code.hpp"
#include "exchange/transfer/independent.hpp"
#include "exchange/transfer/io_counters.hpp"
#include "exchange/transfer/non_coherent_file.hpp"
#include "exchange/window_call.hpp"
#include "storage/file.hpp"

namespace sheaf::exchange {

class HostExchange {
 public:
  explicit HostExchange(HostMap& hosts) : hosts_(hosts), lane_(hosts.lane()) {}

  // Collective over the aggregators. Builds the exchange plan from the bytes that the tasks of the host mark
  // in the maps of `call`; later transfers must use the same windows. `marks` is this task's own pass. Never
  // throws. If an aggregator of this channel fails, returns an error on all aggregators of the channel, which
  // must then transfer no data.
  template <class Mark>
  std::optional<Error> plan(const StageCall& call, PutPass& marks, Mark mark);

  // Returns true if a window owned by this aggregator has at least `least` gaps between planned runs, each of
  // at most `longest` bytes.
  bool leaves_gaps(int64_t least, int64_t longest) const;

  // Write or read the windows of a transfer as planned. Collective over the aggregators. `own` is this task's
  // pass, which copies with `copy`. If `overlap` is true, file requests overlap with messages. Never throws;
  // returns the error of this aggregator.
  template <class Copy>
  std::optional<Error> write(const StageCall& call, PutPass& own, Copy copy, File& file, Sieving sieving,
                             bool overlap, IoCounters& tally);
  template <class Copy>
  std::optional<Error> read(const StageCall& call, TakePass& own, Copy copy, File& file, bool overlap,
                            IoCounters& tally);

 private:
  // The planned runs of one window of the aggregator channel.
  struct Window {
    struct Theirs {
      int host = 0;
      Runs runs;
    };
    Runs ours;
    std::vector<Theirs> theirs;  // runs of the other hosts, on the owner
  };
  // Bytes of runs in flight, sent from or received for window `number`.
  struct Message {
    uint64_t number = 0;
    const Runs* runs = nullptr;
    std::unique_ptr<std::byte[]> memory;
  };
  struct Round {
    std::vector<Message> came, sent;
    std::unique_ptr<Exchange> exchange;

    // Appends a message with memory for its runs. Returns the memory.
    static std::span<std::byte> add(std::vector<Message>& to, uint64_t number, const Runs& runs) {
      const auto bytes = static_cast<size_t>(runs.bytes);
      return {to.emplace_back(Message{number, &runs, std::make_unique_for_overwrite<std::byte[]>(bytes)})
                  .memory.get(),
              bytes};
    }
  };
  // Owners are numbered within the channel, from 0.
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
  // Bytes of the prefix of a code. The prefix contains the number of bytes that follow it.
  static constexpr size_t code_head = sizeof(int64_t);
  // Codes and their full lengths, received from the hosts of the channel, indexed by host.
  struct Told {
    std::vector<std::vector<std::byte>> codes;
    std::vector<int64_t> lengths;
  };
  bool tell_owners(const StageCall& call, Told& told);
  void tell_rest(const StageCall& call, Told& told);
  void learn(const StageCall& call, std::span<const std::byte> code, int host);
  void start_write(const StageCall& call, int64_t round, Round& r, IoCounters& tally);
  void finish_write(const StageCall& call, Round& r);
  void write_out(const StageCall& call, int64_t round, File& file, Sieving sieving, IoCounters& tally);
  void read_in(const StageCall& call, int64_t round, File& file, IoCounters& tally);
  void start_read(const StageCall& call, int64_t round, Round& r, IoCounters& tally);
  void finish_read(const StageCall& call, int64_t round, Round& r);
  // Calls use(host, number, window) for windows of a round: if `mine`, for those that this aggregator owns,
  // else for the remaining ones. `host` is the owner's host.
  template <class Use>
  void for_each_window(const StageCall& call, int64_t round, bool mine, Use use) {
    for (size_t owner = 0; owner < owners(); ++owner)
      if (is_mine(owner) == mine)
        use(hosts_.owner_hosts()[owner], number_of(call, round, owner), window_of(round, owner));
  }

  HostMap& hosts_;
  Comm& lane_;
  std::vector<Window> windows_;                // ordered by round, then by owner
  std::vector<std::vector<std::byte>> codes_;  // codes of the plan being built, one per owner of the channel
  std::optional<Error> problem_;               // first error of the current transfer
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
                                         Sieving sieving, bool overlap, IoCounters& tally) {
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
                                        bool overlap, IoCounters& tally) {
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
