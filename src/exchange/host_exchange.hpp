// exchange/host_exchange: an aggregator's side of a collective transfer between hosts. The aggregator moves
// bytes between the window pool of its host and the other hosts.
//
// An exchange plan lists the byte runs of this host in every window of the aggregator channel. For windows
// that this aggregator owns, it lists the runs of all hosts. The plan stays valid until a task changes its
// access signature. A transfer that follows the plan runs in rounds of one window per aggregator. Aggregators
// send the bytes of runs, and no others, to the aggregator in a write and from the aggregator in a read.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "comm/agree.hpp"
#include "comm/collective_call.hpp"
#include "comm/comm.hpp"
#include "exchange/exchange_method.hpp"
#include "exchange/host_map.hpp"
#include "exchange/run_code.hpp"
#include "exchange/transfer/independent.hpp"
#include "exchange/transfer/io_counters.hpp"
#include "exchange/transfer/request_thread.hpp"
#include "exchange/window_call.hpp"
#include "storage/file.hpp"

namespace sheaf::exchange {

class HostExchange {
 public:
  explicit HostExchange(HostMap& hosts) : hosts_(hosts), channel_(hosts.channel()) {}

  // Collective over the aggregators. Builds the exchange plan from the bytes that the tasks of the host mark
  // in the maps of `call`; later transfers must use the same windows. `marks` is this task's own pass. Never
  // throws. If an aggregator of this channel fails, returns an error on all aggregators of the channel, which
  // must then transfer no data. The messages of the plan travel by `method`, the same on all aggregators;
  // nullopt: chosen for the plan (exchange/exchange_method).
  template <class Mark>
  std::optional<Error> plan(const WindowCall& call, PutPass& marks, Mark mark,
                            std::optional<ExchangeMethod> method);

  // Returns true if a window owned by this aggregator has at least `least` gaps between planned runs, each of
  // at most `max_length` bytes.
  bool leaves_gaps(int64_t least, int64_t max_length) const;

  // How an aggregator accesses the file.
  struct FileIo {
    File& file;
    bool overlap;  // file requests overlap with messages
    IoCounters& counters;
    Sieving sieving = Sieving::disabled;  // used by write() only
  };
  // Write or read the windows of a transfer as planned. Collective over the aggregators. `own` is this task's
  // pass, which copies with `copy`. Never throw; return the error of this aggregator.
  template <class Copy>
  std::optional<Error> write(const WindowCall& call, PutPass& own, Copy copy, const FileIo& io);
  template <class Copy>
  std::optional<Error> read(const WindowCall& call, TakePass& own, Copy copy, const FileIo& io);

 private:
  // The planned runs of one window of the aggregator channel.
  struct PlannedWindow {
    struct Theirs {
      int host = 0;
      Runs runs;
    };
    Runs ours;
    std::vector<Theirs> theirs;  // runs of the other hosts, on the aggregator
  };
  // Bytes of runs in flight, sent from or received for window `number`.
  struct WindowMessage {
    uint64_t number = 0;
    const Runs* runs = nullptr;
    std::unique_ptr<std::byte[]> memory;
  };
  struct Round {
    std::vector<WindowMessage> came, sent;
    std::unique_ptr<Exchange> exchange;

    // Appends a message with memory for `head` bytes and for its runs. Returns the memory.
    static std::span<std::byte> add(std::vector<WindowMessage>& to, uint64_t number, const Runs& runs,
                                    size_t head = 0) {
      const auto bytes = head + static_cast<size_t>(runs.bytes);
      return {
          to.emplace_back(WindowMessage{number, &runs, std::make_unique_for_overwrite<std::byte[]>(bytes)})
              .memory.get(),
          bytes};
    }
  };
  // Owners are numbered within the channel, from 0.
  uint64_t number_of(const WindowCall& call, int64_t round, size_t aggregator) const {
    return call.begin() +
           static_cast<uint64_t>(round * call.windows().aggregators + hosts_.first_aggregator()) + aggregator;
  }
  PlannedWindow& window_of(int64_t round, size_t aggregator) {
    static PlannedWindow none;
    return windows_.empty() ? none : windows_[static_cast<size_t>(round) * aggregators() + aggregator];
  }
  // Begins a transfer. Returns its rounds.
  int64_t begin_rounds(const WindowCall& call) {
    const int64_t rounds = call.windows().rounds();
    SHEAF_ASSERT(windows_.empty() || windows_.size() == static_cast<size_t>(rounds) * aggregators());
    problem_.reset();
    return rounds;
  }
  // Returns true if a thread should carry out the file requests of a transfer.
  bool overlaps_in_thread(const WindowCall& call, const FileIo& io) const {
    return io.overlap && hosts_.owns_windows() && call.windows().rounds() > 1 && io.file.traits().any_thread;
  }
  bool is_mine(size_t aggregator) const { return hosts_.aggregator_hosts()[aggregator] == hosts_.me(); }
  size_t aggregators() const { return hosts_.aggregator_hosts().size(); }
  uint64_t end_of(const WindowCall& call, int64_t round) const {
    return call.begin() + static_cast<uint64_t>((round + 1) * call.windows().aggregators);
  }

  void collect_runs(const WindowCall& call, int64_t round);
  // Bytes of the prefix of a code. The prefix contains the number of bytes that follow it.
  static constexpr size_t code_head = sizeof(int64_t);
  // Codes and their full lengths, received from the hosts of the channel, indexed by host.
  struct ReceivedCodes {
    std::vector<std::vector<std::byte>> plan;
    std::vector<int64_t> lengths;
  };
  bool send_to_aggregators(const WindowCall& call, ReceivedCodes& received);
  void tell_rest(const WindowCall& call, ReceivedCodes& received);
  void learn(const WindowCall& call, std::span<const std::byte> code, int host);
  PlannedMessages planned_messages() const;
  void make_exchanger(std::optional<ExchangeMethod> method);
  std::unique_ptr<Exchange> start(std::vector<Outgoing> outgoing, std::vector<Incoming> incoming) {
    if (!exchanger_) return channel_.exchange(std::move(outgoing), std::move(incoming));
    return collective_call(channel_.job_end(), "exchange",
                           [&] { return exchanger_->start(std::move(outgoing), std::move(incoming)); });
  }
  // Bytes at the front of a message of a read: the number of bytes of runs that follow. The rest of the
  // message is beyond the end of the file.
  static constexpr size_t read_head = sizeof(int64_t);
  void start_write(const WindowCall& call, int64_t round, Round& r, IoCounters& counters);
  void finish_write(const WindowCall& call, Round& r);
  // The steps of file requests for this aggregator's windows of a round. *_windows() may run in a thread.
  void prepare_to_write(const WindowCall& call, int64_t round);
  void write_windows(const WindowCall& call, int64_t round, const FileIo& io, std::optional<Error>& problem);
  void release_written(const WindowCall& call, int64_t round);
  void await_slots(const WindowCall& call, int64_t round);
  void read_windows(const WindowCall& call, int64_t round, const FileIo& io, std::optional<Error>& problem);
  void offer_read(const WindowCall& call, int64_t round);
  void start_read(const WindowCall& call, int64_t round, Round& r, IoCounters& counters);
  void finish_read(const WindowCall& call, int64_t round, Round& r);
  // Calls use(host, number, window) for windows of a round: if `mine`, for those that this aggregator owns,
  // else for the remaining ones. `host` is the aggregator's host.
  template <class Use>
  void for_each_window(const WindowCall& call, int64_t round, bool mine, Use use) {
    for (size_t aggregator = 0; aggregator < aggregators(); ++aggregator)
      if (is_mine(aggregator) == mine)
        use(hosts_.aggregator_hosts()[aggregator], number_of(call, round, aggregator),
            window_of(round, aggregator));
  }

  HostMap& hosts_;
  Comm& channel_;
  std::vector<PlannedWindow> windows_;  // ordered by round, then by aggregator
  std::vector<std::vector<std::byte>>
      plan_;                              // codes of the plan being built, one per aggregator of the channel
  std::unique_ptr<Exchanger> exchanger_;  // null: the plan uses messages
  std::optional<Error> problem_;          // first error of the current transfer
};

template <class Mark>
std::optional<Error> HostExchange::plan(const WindowCall& call, PutPass& marks, Mark mark,
                                        std::optional<ExchangeMethod> method) {
  const int64_t rounds = call.windows().rounds();
  problem_.reset();
  exchanger_.reset();
  windows_.clear();
  attempt(problem_, [&] { windows_.resize(static_cast<size_t>(rounds) * aggregators()); });
  plan_.assign(aggregators(), std::vector<std::byte>(code_head));
  for (int64_t round = 0; round < rounds; ++round) {
    marks.go(end_of(call, round), mark, [](uint64_t) {});
    collect_runs(call, round);
  }
  ReceivedCodes received;
  int64_t more = 0;
  attempt(problem_, [&] { more = send_to_aggregators(call, received); });
  attempt(problem_, [&] { agree(channel_, problem_, std::span(&more, 1)); });
  if (!problem_ && more != 0) {
    attempt(problem_, [&] { tell_rest(call, received); });
    attempt(problem_, [&] { agree(channel_, problem_); });
  }
  plan_.clear();
  if (!problem_) make_exchanger(method);
  if (problem_) windows_.clear();
  return problem_;
}

template <class Copy>
std::optional<Error> HostExchange::write(const WindowCall& call, PutPass& own, Copy copy, const FileIo& io) {
  const int64_t rounds = begin_rounds(call);
  std::optional<Error> request_problem;
  const auto request = [&](int64_t round) { write_windows(call, round, io, request_problem); };
  RequestThread requests(overlaps_in_thread(call, io), request);
  const auto release = [&](int64_t round) { release_written(call, round); };
  const auto begin = [&](int64_t round) {
    prepare_to_write(call, round);
    requests.begin();
    requests.finish(0, release);
  };
  for (int64_t round = 0; round < rounds; ++round) {
    requests.finish(std::max<int64_t>(round + 1 - rounds_under_way, 0), release);
    own.go(end_of(call, round), copy, [](uint64_t) {});
    Round r;
    start_write(call, round, r, io.counters);
    if (io.overlap && round > 0) begin(round - 1);
    finish_write(call, r);
    if (!io.overlap) begin(round);
  }
  if (io.overlap) begin(rounds - 1);
  requests.finish(rounds, release);
  return problem_ ? problem_ : request_problem;
}

template <class Copy>
std::optional<Error> HostExchange::read(const WindowCall& call, TakePass& own, Copy copy, const FileIo& io) {
  const int64_t rounds = begin_rounds(call);
  std::optional<Error> request_problem;
  const auto request = [&](int64_t round) { read_windows(call, round, io, request_problem); };
  RequestThread requests(overlaps_in_thread(call, io), request);
  const auto offer = [&](int64_t round) { offer_read(call, round); };
  int64_t begun = 0;
  const auto begin_below = [&](int64_t end) {
    for (; begun < std::min(end, rounds); ++begun) {
      await_slots(call, begun);
      requests.begin();
    }
    requests.finish(0, offer);
  };
  const int64_t ahead = requests.is_concurrent() ? rounds_under_way - 1 : 1;
  begin_below(ahead);
  for (int64_t round = 0; round < rounds; ++round) {
    requests.finish(round + 1, offer);
    Round r;
    start_read(call, round, r, io.counters);
    if (io.overlap) begin_below(round + 1 + ahead);
    finish_read(call, round, r);
    own.go(
        end_of(call, round), copy, [](uint64_t) {}, uint64_t{0});
    if (!io.overlap) begin_below(round + 2);
  }
  return problem_ ? problem_ : request_problem;
}

}  // namespace sheaf::exchange
