#include "exchange/host_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/byte_order.hpp"
#include "base/extent.hpp"
#include "base/report/trace.hpp"
#include "exchange/transfer/write_covered.hpp"
#include "layout/extent_code.hpp"

namespace sheaf::exchange {

using layout::for_each_extent;
using layout::throw_bad_extents;

namespace {

// Moves the bytes of runs between a window and a message of `bytes` bytes, as many as the message holds.
// Returns the offset in the window of the first byte of a run that was not moved, or `length`, the window's
// length, if all were moved.
template <class Move>
int64_t for_each_part(const Runs& runs, int64_t bytes, int64_t length, Move move) {
  int64_t done = 0, missing = length;
  for_each_extent(runs.code, [&](int64_t begin, int64_t run) {
    const int64_t part = std::min(run, bytes - done);
    if (part > 0) move(begin, done, static_cast<size_t>(part));
    if (part < run) missing = std::min(missing, begin + part);
    done += part;
  });
  return missing;
}

void pack_runs(const Runs& runs, const std::byte* window, std::byte* message, int64_t bytes) {
  for_each_part(runs, bytes, 0, [&](int64_t at, int64_t in, size_t length) {
    std::memcpy(message + in, window + at, length);
  });
}

int64_t unpack_runs(const Runs& runs, std::byte* window, const std::byte* message, int64_t bytes,
                    int64_t length) {
  return for_each_part(runs, bytes, length, [&](int64_t at, int64_t in, size_t part) {
    std::memcpy(window + at, message + in, part);
  });
}

// Returns the number of bytes of runs below `end` in the window.
int64_t bytes_below(const Runs& runs, int64_t end) {
  if (end >= runs.end) return runs.bytes;
  int64_t bytes = 0;
  for_each_extent(runs.code, [&](int64_t begin, int64_t length) {
    bytes += std::clamp<int64_t>(end - begin, 0, length);
  });
  return bytes;
}

}  // namespace

// Encodes what the tasks of the host have marked in the windows of the round.
void HostExchange::collect_runs(const WindowCall& call, int64_t round) {
  for (size_t aggregator = 0; aggregator < aggregators(); ++aggregator) {
    const uint64_t number = number_of(call, round, aggregator);
    await_full(call, number);
    if (call.due(number) > 0) {
      const CoverageMap map(call.pool().map(number));
      attempt(problem_, [&] {
        if (windows_.empty()) return;
        Runs& ours = window_of(round, aggregator).ours;
        ours = encode_runs(map, call.length(number));
        if (is_mine(aggregator) || ours.bytes == 0) return;
        layout::append_number(plan_[aggregator], static_cast<uint64_t>(round));
        layout::append_list(plan_[aggregator], ours.code);
      });
      map.clear();
    }
    empty(call, number);
  }
}

bool HostExchange::leaves_gaps(int64_t least, int64_t max_length) const {
  std::vector<Extent> parts;
  for (size_t i = 0; i < windows_.size(); ++i) {
    if (!is_mine(i % aggregators())) continue;
    parts.clear();
    const auto add = [&](const Runs& runs) {
      for_each_extent(runs.code, [&](int64_t begin, int64_t length) { parts.push_back({begin, length}); });
    };
    add(windows_[i].ours);
    for (const auto& their : windows_[i].theirs) add(their.runs);
    std::ranges::sort(parts, {}, &Extent::offset);
    int64_t gaps = 0, reached = 0;
    for (const Extent& part : parts) {
      gaps += reached > 0 && part.offset > reached && part.offset - reached <= max_length;
      reached = std::max(reached, part.end());
    }
    if (gaps >= least) return true;
  }
  return false;
}

// Exchanges codes with the aggregators of the channel: the length of each code and its first part. Returns
// true if a code of this host is longer than its first part.
bool HostExchange::send_to_aggregators(const WindowCall& call, ReceivedCodes& received) {
  received.plan.resize(hosts_.owns_windows() ? static_cast<size_t>(channel_.size()) : 0);
  received.lengths.resize(received.plan.size());
  bool more = false;
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  for (size_t aggregator = 0; aggregator < aggregators(); ++aggregator) {
    if (is_mine(aggregator)) continue;
    auto& code = plan_[aggregator];
    if (problem_) code.resize(code_head);
    const int64_t length = std::ssize(code) - static_cast<int64_t>(code_head);
    std::memcpy(code.data(), &length, code_head);
    more = more || length > static_cast<int64_t>(short_code);
    outgoing.push_back({hosts_.aggregator_hosts()[aggregator],
                        std::span(code).first(std::min(code.size(), code_head + short_code))});
  }
  for (size_t host = 0; host < received.plan.size(); ++host) {
    if (static_cast<int>(host) == hosts_.me()) continue;
    received.plan[host].resize(code_head + short_code);
    incoming.push_back({static_cast<int>(host), received.plan[host]});
  }
  const auto got = channel_.exchange(std::move(outgoing), std::move(incoming))->finish();
  for (size_t host = 0, next = 0; host < received.plan.size(); ++host) {
    if (static_cast<int>(host) == hosts_.me()) continue;
    auto& code = received.plan[host];
    code.resize(static_cast<size_t>(got[next++]));
    if (code.size() < code_head) throw_bad_extents();
    int64_t& length = received.lengths[host];
    std::memcpy(&length, code.data(), code_head);
    code.erase(code.begin(), code.begin() + code_head);
    if (std::min<int64_t>(length, short_code) != std::ssize(code)) throw_bad_extents();
    if (length == std::ssize(code)) learn(call, code, static_cast<int>(host));
  }
  return more;
}

void HostExchange::tell_rest(const WindowCall& call, ReceivedCodes& received) {
  constexpr size_t begun = code_head + short_code;
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  for (size_t aggregator = 0; aggregator < aggregators(); ++aggregator)
    if (plan_[aggregator].size() > begun)
      outgoing.push_back(
          {hosts_.aggregator_hosts()[aggregator], std::span(plan_[aggregator]).subspan(begun)});
  std::vector<size_t> hosts;
  for (size_t host = 0; host < received.plan.size(); ++host) {
    if (received.lengths[host] <= std::ssize(received.plan[host])) continue;
    received.plan[host].resize(static_cast<size_t>(received.lengths[host]));
    incoming.push_back({static_cast<int>(host), std::span(received.plan[host]).subspan(short_code)});
    hosts.push_back(host);
  }
  channel_.exchange(std::move(outgoing), std::move(incoming))->finish();
  for (const size_t host : hosts) learn(call, received.plan[host], static_cast<int>(host));
}

void HostExchange::learn(const WindowCall& call, std::span<const std::byte> code, int host) {
  if (windows_.empty()) return;
  size_t aggregator = 0;
  while (!is_mine(aggregator)) ++aggregator;
  while (!code.empty()) {
    const auto round = static_cast<int64_t>(layout::take_number(code));
    const auto list = layout::take_list(code);
    if (round < 0 || round >= call.windows().rounds()) throw_bad_extents();
    window_of(round, aggregator)
        .theirs.push_back(
            {host, check_runs({list.begin(), list.end()}, call.length(number_of(call, round, aggregator)))});
  }
}

PlannedMessages HostExchange::planned_messages() const {
  PlannedMessages found;
  std::vector<char> is_peer(static_cast<size_t>(channel_.size()), 0);
  int64_t sent = 0, received = 0;  // bytes of a round
  const auto add = [&](int64_t& to, int host, const Runs& runs) {
    is_peer[static_cast<size_t>(host)] = 1;
    to += runs.bytes + static_cast<int64_t>(read_head);
    found.bytes += runs.bytes;
    ++found.messages;
  };
  for (size_t i = 0; i < windows_.size(); ++i) {
    const size_t aggregator = i % aggregators();
    if (aggregator == 0) sent = received = 0;
    if (!is_mine(aggregator) && windows_[i].ours.bytes > 0)
      add(sent, hosts_.aggregator_hosts()[aggregator], windows_[i].ours);
    for (const auto& their : windows_[i].theirs) add(received, their.host, their.runs);
    found.largest = std::max({found.largest, sent, received});
  }
  for (size_t host = 0; host < is_peer.size(); ++host)
    if (is_peer[host] != 0) found.peers.push_back(static_cast<int>(host));
  return found;
}

// Collective over the channel. Sets problem_ on all aggregators of the channel if one fails.
void HostExchange::make_exchanger(std::optional<ExchangeMethod> method) {
  if (!method && channel_.size() < hosts_worth_alltoallv) method = ExchangeMethod::messages;
  if (method == ExchangeMethod::messages) return;
  PlannedMessages found;
  attempt(problem_, [&] { found = planned_messages(); });
  attempt(problem_, [&] { agree(channel_, problem_, std::span(&found.largest, 1)); });
  if (problem_) return;
  attempt(problem_, [&] {
    if (!method) method = exchange_method(channel_, found);
    exchanger_ = channel_.exchanger(*method, found.peers, found.largest);
  });
  attempt(problem_, [&] { agree(channel_, problem_); });
  if (problem_) exchanger_.reset();
}

// Packs the windows of the round that other aggregators own, releases their slots, and starts the messages of
// the round.
void HostExchange::start_write(const WindowCall& call, int64_t round, Round& r, IoCounters& counters) {
  const ScopedTimer clock(counters.exchange_ns);
  const TraceEvent event("send round");
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  for_each_window(call, round, true, [&](int, uint64_t number, const PlannedWindow& window) {
    for (const auto& [host, runs] : window.theirs) incoming.push_back({host, r.add(r.came, number, runs)});
  });
  for_each_window(call, round, false, [&](int aggregator, uint64_t number, const PlannedWindow& window) {
    await_full(call, number);
    if (window.ours.bytes > 0) {
      const auto message = r.add(r.sent, number, window.ours);
      pack_runs(window.ours, call.memory(number), message.data(), window.ours.bytes);
      outgoing.push_back({aggregator, message});
    }
    empty(call, number);
  });
  attempt(problem_, [&] { r.exchange = start(std::move(outgoing), std::move(incoming)); });
}

void HostExchange::finish_write(const WindowCall& call, Round& r) {
  const TraceEvent event("await round");
  attempt(problem_, [&] {
    if (r.exchange) r.exchange->finish();
    for (const WindowMessage& message : r.came) {
      await_free(call, message.number);
      unpack_runs(*message.runs, call.memory(message.number), message.memory.get(), message.runs->bytes, 0);
    }
  });
}

// Marks the bytes of all hosts, once the tasks of this host have packed theirs.
void HostExchange::prepare_to_write(const WindowCall& call, int64_t round) {
  for_each_window(call, round, true, [&](int, uint64_t number, const PlannedWindow& window) {
    await_full(call, number);
    const CoverageMap map(call.pool().map(number));
    const auto mark = [&](int64_t begin, int64_t length) { map.set(begin, begin + length); };
    for_each_extent(window.ours.code, mark);
    for (const auto& their : window.theirs) for_each_extent(their.runs.code, mark);
  });
}

void HostExchange::write_windows(const WindowCall& call, int64_t round, const FileIo& io,
                                 std::optional<Error>& problem) {
  const TraceEvent event("write windows");
  for_each_window(call, round, true, [&](int, uint64_t number, const PlannedWindow&) {
    attempt(problem, [&] {
      const CoverageMap map(call.pool().map(number));
      write_covered(io.file, call.bytes(number), map, call.low(number), io.sieving, io.counters);
    });
  });
}

void HostExchange::release_written(const WindowCall& call, int64_t round) {
  for_each_window(call, round, true, [&](int, uint64_t number, const PlannedWindow&) {
    CoverageMap(call.pool().map(number)).clear();
    empty(call, number);
  });
}

void HostExchange::await_slots(const WindowCall& call, int64_t round) {
  for_each_window(call, round, true,
                  [&](int, uint64_t number, const PlannedWindow&) { await_free(call, number); });
}

void HostExchange::read_windows(const WindowCall& call, int64_t round, const FileIo& io,
                                std::optional<Error>& problem) {
  const TraceEvent event("read windows");
  for_each_window(call, round, true, [&](int, uint64_t number, const PlannedWindow& window) {
    int64_t begin = window.ours.bytes > 0 ? window.ours.begin : call.length(number), end = window.ours.end;
    for (const auto& their : window.theirs) {
      begin = std::min(begin, their.runs.begin);
      end = std::max(end, their.runs.end);
    }
    size_t got = 0;
    if (begin < end)
      attempt(problem, [&] {
        const auto wanted =
            call.bytes(number).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
        got = get(io.file, wanted, call.low(number) + begin, io.counters);
      });
    const bool whole = static_cast<int64_t>(got) == end - begin;
    call.pool().slot(number).got.store(whole ? call.length(number) : begin + static_cast<int64_t>(got));
  });
}

void HostExchange::offer_read(const WindowCall& call, int64_t round) {
  for_each_window(call, round, true,
                  [&](int, uint64_t number, const PlannedWindow&) { offer(call, number); });
}

// Starts the messages of the round.
void HostExchange::start_read(const WindowCall& call, int64_t round, Round& r, IoCounters& counters) {
  const ScopedTimer clock(counters.exchange_ns);
  const TraceEvent event("send round");
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  for_each_window(call, round, false, [&](int aggregator, uint64_t number, const PlannedWindow& window) {
    if (window.ours.bytes > 0)
      incoming.push_back({aggregator, r.add(r.came, number, window.ours, read_head)});
  });
  for_each_window(call, round, true, [&](int, uint64_t number, const PlannedWindow& window) {
    const int64_t there = call.pool().slot(number).got.load();
    for (const auto& [host, runs] : window.theirs) {
      const int64_t bytes = bytes_below(runs, there);
      const auto message = r.add(r.sent, number, runs, read_head);
      std::memcpy(message.data(), &bytes, read_head);
      pack_runs(runs, call.memory(number), message.data() + read_head, bytes);
      std::ranges::fill(message.subspan(read_head + static_cast<size_t>(bytes)), std::byte{});
      outgoing.push_back({host, message});
    }
  });
  attempt(problem_, [&] { r.exchange = start(std::move(outgoing), std::move(incoming)); });
}

void HostExchange::finish_read(const WindowCall& call, int64_t round, Round& r) {
  const TraceEvent event("await round");
  std::vector<int64_t> received(r.came.size(), 0);
  attempt(problem_, [&] {
    if (r.exchange) received = r.exchange->finish();
  });
  size_t next = 0;
  for_each_window(call, round, false, [&](int, uint64_t number, const PlannedWindow&) {
    await_free(call, number);
    int64_t there = call.length(number);
    if (next < r.came.size() && r.came[next].number == number) {
      const WindowMessage& message = r.came[next];
      int64_t bytes = 0;
      if (received[next++] > 0) std::memcpy(&bytes, message.memory.get(), read_head);
      SHEAF_ASSERT(bytes >= 0 && bytes <= message.runs->bytes);
      there = unpack_runs(*message.runs, call.memory(number), message.memory.get() + read_head, bytes, there);
    }
    call.pool().slot(number).got.store(there);
    offer(call, number);
  });
}

}  // namespace sheaf::exchange
