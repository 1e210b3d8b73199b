#include "exchange/messages.hpp"

#include <algorithm>
#include <array>

#include "comm/agree.hpp"
#include "exchange/coverage.hpp"
#include "exchange/piece_code.hpp"
#include "exchange/rounds.hpp"
#include "exchange/write_covered.hpp"

namespace sheaf::exchange {

namespace {

const layout::TypeMap& contiguous_bytes() {
  static const layout::TypeMap map = layout::TypeMap::bytes(1);
  return map;
}

std::span<const std::byte> bytes_of(const std::vector<int64_t>& numbers, size_t i) {
  return std::as_bytes(std::span(numbers).subspan(i, 1));
}

}  // namespace

// What travels or is worked on in a round; two rounds are under way.
struct Messages::Buffers {
  std::vector<std::byte> window;
  std::vector<std::vector<std::byte>> aside;  // messages from or to the senders, in their order
  std::vector<std::vector<std::byte>> own;    // messages of this task to or from the aggregators
  std::vector<std::array<int64_t, 2>> ranges;  // of the stream, of each of `own`
};

Messages::Messages(Comm& comm) : comm_(comm) {
  const auto node = comm.split_by_node();
  int64_t name = comm.rank();
  node->broadcast(std::as_writable_bytes(std::span(&name, 1)), 0);
  nodes_.assign(static_cast<size_t>(comm.size()), -1);
  nodes_[static_cast<size_t>(comm.rank())] = name;
  comm.all_max(nodes_);
}

Access Messages::Sender::part(int64_t from, int64_t to, std::byte* memory) const {
  return {0, &pieces, from, to, memory, &contiguous_bytes()};
}

Messages::Span Messages::domain(int64_t aggregator) const {
  const int64_t count = windows_.count();
  const int64_t each = count / aggregators();
  const int64_t longer = count % aggregators();
  const int64_t first = aggregator * each + std::min(aggregator, longer);
  return {first, first + each + (aggregator < longer ? 1 : 0)};
}

int64_t Messages::rounds() const { return (windows_.count() + aggregators() - 1) / aggregators(); }

template <class Visit>
void Messages::for_each_own(const Access& access, int64_t round, Visit visit) const {
  if (access.bytes() <= 0) return;
  for (int64_t a = 0; a < aggregators(); ++a) {
    const Span span = domain(a);
    const int64_t window = span.first + round;
    if (window >= span.end) continue;
    const int64_t from = access.position_at(windows_.begin(window));
    const int64_t to = access.position_at(windows_.end(window));
    if (from < to) visit(static_cast<size_t>(a), from, to);
  }
}

void Messages::make_plan(const Access& access, const Windows& windows, const layout::AggregatorRules& rules) {
  windows_ = windows;
  const auto all = layout::choose_aggregators(nodes_, rules);
  aggregators_ = layout::subset_of(all, std::min(std::ssize(all), windows.count()));
  const auto found = std::ranges::find(aggregators_, comm_.rank());
  mine_ = found == aggregators_.end() ? -1 : found - aggregators_.begin();
  senders_.clear();
  full_.clear();
  learn_pieces(access);
}

void Messages::learn_pieces(const Access& access) {
  const auto tasks = static_cast<size_t>(comm_.size());
  std::vector<std::vector<std::byte>> codes(aggregators_.size());
  std::optional<Error> problem = attempt([&] {
    for (size_t a = 0; a < codes.size() && access.bytes() > 0; ++a) {
      const Span span = domain(static_cast<int64_t>(a));
      codes[a] = encode_pieces(access, access.position_at(windows_.begin(span.first)), access.position_at(windows_.end(span.end - 1)));
    }
  });
  // How long the codes are, then the codes.
  std::vector<int64_t> lengths(codes.size()), coming(mine_ >= 0 ? tasks : 0);
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  for (size_t a = 0; a < codes.size(); ++a) {
    lengths[a] = problem ? 0 : std::ssize(codes[a]);
    outgoing.push_back({aggregators_[a], bytes_of(lengths, a)});
  }
  for (size_t task = 0; task < coming.size(); ++task)
    incoming.push_back({static_cast<int>(task), std::as_writable_bytes(std::span(coming).subspan(task, 1))});
  comm_.exchange(std::move(outgoing), std::move(incoming))->finish();

  std::vector<std::vector<std::byte>> arrived;
  outgoing.clear();
  incoming.clear();
  for (size_t a = 0; a < codes.size(); ++a)
    if (lengths[a] > 0) outgoing.push_back({aggregators_[a], codes[a]});
  for (size_t task = 0; task < coming.size(); ++task)
    if (coming[task] > 0) {
      senders_.push_back({static_cast<int>(task), {}});
      arrived.emplace_back(static_cast<size_t>(coming[task]));
    }
  for (size_t i = 0; i < arrived.size(); ++i) incoming.push_back({senders_[i].task, arrived[i]});
  comm_.exchange(std::move(outgoing), std::move(incoming))->finish();

  const auto decoding = attempt([&] {
    for (size_t i = 0; i < arrived.size(); ++i) senders_[i].pieces = decode_pieces(arrived[i]);
    if (mine_ < 0) return;
    const Span span = domain(mine_);
    for (int64_t window = span.first; window < span.end; ++window) {
      const int64_t begin = windows_.begin(window), end = windows_.end(window);
      uint64_t sum = 0;
      for (const Sender& sender : senders_)
        sum += coverage(sender.part(0, sender.pieces.size(), nullptr), sender.position_at(begin), sender.position_at(end));
      full_.push_back(sum == coverage_of_range(begin, end));
    }
  });
  agree(comm_, problem ? problem : decoding);
}

std::optional<Error> Messages::write(File& file, const Access& access, bool absent, Sieving sieving, bool overlap,
                                     Tally& tally) {
  Buffers buffers[2];
  std::vector<std::atomic<uint64_t>> words(mine_ >= 0 ? CoverageMap::words_for(windows_.size) : 0);
  const Span span = mine_ >= 0 ? domain(mine_) : Span{};

  const auto prepare = [&](int64_t round) {
    const Clock clock(tally.exchange_ns);
    Buffers& b = buffers[round % 2];
    b.own.clear();
    b.aside.clear();
    Step step;
    for_each_own(access, round, [&](size_t a, int64_t from, int64_t to) {
      if (absent) {
        step.outgoing.push_back({aggregators_[a], {}});
        return;
      }
      tally.exchanged_bytes += to - from;
      if (const std::byte* const stream = access.contiguous(from)) {
        step.outgoing.push_back({aggregators_[a], {stream, static_cast<size_t>(to - from)}});
        return;
      }
      pack(access, from, to, b.own.emplace_back(static_cast<size_t>(to - from)).data());
      step.outgoing.push_back({aggregators_[a], b.own.back()});
    });
    const int64_t window = span.first + round;
    if (window >= span.end) return step;
    for (const Sender& sender : senders_) {
      const int64_t bytes = sender.position_at(windows_.end(window)) - sender.position_at(windows_.begin(window));
      auto& room = b.aside.emplace_back(static_cast<size_t>(bytes));
      if (bytes > 0) step.incoming.push_back({sender.task, room});
    }
    return step;
  };

  const auto use = [&](int64_t round, const std::vector<int64_t>& received) {
    const int64_t window = span.first + round;
    if (window >= span.end) return;
    if (std::ranges::find(received, 0) != received.end()) return;  // somebody is absent: all begin anew
    Buffers& b = buffers[round % 2];
    const int64_t begin = windows_.begin(window), end = windows_.end(window);
    const bool full = full_[static_cast<size_t>(round)];
    const CoverageMap map{std::span(words)};
    b.window.resize(static_cast<size_t>(end - begin));
    bool any = false;
    for (size_t i = 0; i < senders_.size(); ++i) {
      const int64_t from = senders_[i].position_at(begin), to = senders_[i].position_at(end);
      if (from >= to) continue;
      any = true;
      const Access part = senders_[i].part(from, to, b.aside[i].data());
      put_pieces(part, from, to, b.window.data(), begin);
      if (!full) map.set(part, from, to, begin);
    }
    if (!any) return;
    if (full) return put(file, b.window, begin, tally);
    const auto problem = attempt([&] { write_covered(file, b.window, map, begin, sieving, tally); });
    map.clear();
    if (problem) throw *problem;
  };
  return in_rounds(comm_, rounds(), prepare, use, overlap);
}

std::optional<Error> Messages::read(File& file, const Access& access, bool absent, bool overlap, int64_t& done, Tally& tally) {
  Buffers buffers[2];
  const Span span = mine_ >= 0 ? domain(mine_) : Span{};
  std::optional<Error> problem;
  done = access.to;

  // An aggregator sends what there is; a message that is too short tells where the file ends.
  const auto prepare = [&](int64_t round) {
    Buffers& b = buffers[round % 2];
    b.own.clear();
    b.aside.clear();
    b.ranges.clear();
    Step step;
    const int64_t window = span.first + round;
    if (window < span.end) {
      const int64_t begin = windows_.begin(window), end = windows_.end(window);
      int64_t low = end, high = begin;  // what senders want of it
      for (const Sender& sender : senders_) {
        const int64_t from = sender.position_at(begin), to = sender.position_at(end);
        if (from >= to) continue;
        low = std::min(low, sender.pieces.offset_of(from));
        high = std::max(high, sender.pieces.offset_of(to - 1) + 1);
      }
      size_t got = 0;
      b.window.resize(static_cast<size_t>(std::max<int64_t>(high - low, 0)));
      if (low < high)
        if (const auto failed = attempt([&] { got = get(file, b.window, low, tally); }); failed && !problem) problem = failed;
      const Clock clock(tally.exchange_ns);
      for (const Sender& sender : senders_) {
        const int64_t from = sender.position_at(begin), to = sender.position_at(end);
        if (from >= to) continue;
        const int64_t there = std::clamp(sender.position_at(low + static_cast<int64_t>(got)), from, to);
        auto& message = b.aside.emplace_back(static_cast<size_t>(there - from));
        take_pieces(sender.part(from, to, message.data()), from, there, b.window.data(), low);
        step.outgoing.push_back({sender.task, message});
      }
    }
    for_each_own(access, round, [&](size_t a, int64_t from, int64_t to) {
      b.ranges.push_back({from, to});
      std::byte* const stream = absent ? nullptr : access.contiguous(from);
      auto& room = b.own.emplace_back(stream ? 0 : static_cast<size_t>(to - from));
      step.incoming.push_back({aggregators_[a], stream ? std::span(stream, static_cast<size_t>(to - from)) : std::span(room)});
    });
    return step;
  };

  const auto use = [&](int64_t round, const std::vector<int64_t>& received) {
    const Clock clock(tally.exchange_ns);
    Buffers& b = buffers[round % 2];
    for (size_t i = 0; i < b.ranges.size() && !absent; ++i) {
      const auto [from, to] = b.ranges[i];
      const int64_t end = from + received[i];
      if (end < to) done = std::min(done, end);
      tally.exchanged_bytes += received[i];
      if (!access.contiguous(from)) unpack(access, from, end, b.own[i].data());
    }
  };
  const auto failed = in_rounds(comm_, rounds(), prepare, use, overlap);
  return problem ? problem : failed;
}

}  // namespace sheaf::exchange
