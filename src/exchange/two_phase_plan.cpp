// How the tasks of a two-phase transfer learn what goes where.
#include <algorithm>
#include <memory>

#include "base/byte_order.hpp"
#include "comm/agree.hpp"
#include "exchange/coverage.hpp"
#include "exchange/piece_code.hpp"
#include "exchange/two_phase.hpp"

namespace sheaf::exchange {

namespace {

std::span<const std::byte> bytes_of(const std::vector<int64_t>& numbers, size_t i) {
  return std::as_bytes(std::span(numbers).subspan(i, 1));
}

}  // namespace

void TwoPhase::find_nodes() {
  if (!nodes_.empty()) return;
  const auto node = comm_.split_by_node();
  int64_t name = comm_.rank();
  node->broadcast(std::as_writable_bytes(std::span(&name, 1)), 0);
  nodes_.assign(static_cast<size_t>(comm_.size()), -1);
  nodes_[static_cast<size_t>(comm_.rank())] = name;
  comm_.all_max(nodes_);
}

void TwoPhase::plan_domains(const Access& access, const Windows& windows, const layout::AggregatorRules& rules) {
  find_nodes();
  const auto all = layout::choose_aggregators(nodes_, rules);
  aggregators_ = layout::subset_of(all, std::min(std::ssize(all), windows.count()));
  const auto found = std::ranges::find(aggregators_, comm_.rank());
  mine_ = found == aggregators_.end() ? -1 : found - aggregators_.begin();
  domains_ = Domains::of_windows(windows, aggregators());
  in_windows_ = true;
  unknown_.reset();
  senders_.clear();
  full_.clear();
  learn_domains(access);
}

void TwoPhase::learn_domains(const Access& access) {
  const auto tasks = static_cast<size_t>(comm_.size());
  std::vector<std::vector<std::byte>> codes(aggregators_.size());
  std::optional<Error> problem = attempt([&] {
    for (size_t a = 0; a < codes.size() && access.bytes() > 0; ++a) {
      const auto part = domains_.whole(access, static_cast<int64_t>(a));
      codes[a] = encode_pieces(access, part.from, part.to);
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
      senders_.push_back({static_cast<int>(task), 0, {}});
      arrived.emplace_back(static_cast<size_t>(coming[task]));
    }
  for (size_t i = 0; i < arrived.size(); ++i) incoming.push_back({senders_[i].task, arrived[i]});
  comm_.exchange(std::move(outgoing), std::move(incoming))->finish();

  const auto decoding = attempt([&] {
    for (size_t i = 0; i < arrived.size(); ++i) {
      senders_[i].pieces = decode_pieces(arrived[i]);
      senders_[i].bytes = senders_[i].pieces.size();
    }
    for (int64_t round = 0; mine_ >= 0 && domains_.has_window(mine_, round); ++round) {
      uint64_t sum = 0;
      for (const Sender& sender : senders_) {
        const auto part = domains_.part(sender.access(), mine_, round);
        sum += coverage(sender.access(), part.from, part.to);
      }
      full_.push_back(sum == coverage_of_range(domains_.begin(mine_, round), domains_.end(mine_, round)));
    }
  });
  agree(comm_, problem ? problem : decoding);
}

void TwoPhase::begin_groups(const Group& group) {
  aggregators_ = {group.aggregator};
  mine_ = comm_.rank() == group.aggregator ? 0 : -1;
  in_windows_ = false;
  unknown_.reset();
  senders_.clear();
}

std::optional<Error> TwoPhase::plan_groups(const Access& access, std::span<const std::byte> code, const Group& group,
                                           const Load& largest, int64_t each) {
  begin_groups(group);
  domains_ = Domains::of_shares(each, (largest.bytes + each - 1) / each);
  // How many bytes a task has, and the code.
  const int64_t bytes = access.bytes();
  std::vector<std::byte> own(sizeof bytes + code.size());
  store(own.data(), bytes, native_order);
  std::ranges::copy(code, own.begin() + sizeof bytes);
  if (mine_ < 0) {
    comm_.exchange({{group.aggregator, own}}, {})->finish();
    return std::nullopt;
  }
  const size_t room = sizeof bytes + static_cast<size_t>(largest.code);
  const auto arrived = std::make_unique_for_overwrite<std::byte[]>(room * static_cast<size_t>(group.size()));
  std::vector<Incoming> incoming;
  for (int task = group.first; task <= group.last; ++task)
    if (task != group.aggregator)
      incoming.push_back({task, {arrived.get() + room * static_cast<size_t>(task - group.first), room}});
  const auto places = incoming;
  const auto received = comm_.exchange({}, std::move(incoming))->finish();

  size_t next = 0;
  for (int task = group.first; task <= group.last; ++task) {
    std::span<const std::byte> message = own;
    if (task != group.aggregator) {
      message = places[next].room.first(static_cast<size_t>(received[next]));
      ++next;
    }
    const auto size = load<int64_t>(message.data(), native_order);
    if (size == 0) continue;
    Sender& sender = senders_.emplace_back(Sender{task, size, {}});
    const auto failed = attempt([&] { sender.pieces = decode_pieces(message.subspan(sizeof bytes)); });
    if (failed && !unknown_) unknown_ = failed;
  }
  return unknown_;
}

void TwoPhase::plan_sequence(const Group& group, std::span<const int64_t> sizes, int64_t total, int64_t window, int64_t rounds) {
  begin_groups(group);
  domains_ = Domains::of_windows({0, total, 0, window}, 1, rounds);
  if (mine_ < 0) return;
  int64_t offset = 0;
  for (int task = group.first; const int64_t size : sizes) {
    if (size > 0) senders_.push_back({task, size, layout::TypeMap::indexed({&size, 1}, {&offset, 1}, layout::TypeMap::bytes(1))});
    offset += size;
    ++task;
  }
}

}  // namespace sheaf::exchange
