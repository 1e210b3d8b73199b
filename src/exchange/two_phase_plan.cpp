// How the tasks of a two-phase transfer learn what goes where.
#include <algorithm>
#include <memory>

#include "base/byte_order.hpp"
#include "comm/agree.hpp"
#include "exchange/coverage.hpp"
#include "exchange/piece_code.hpp"
#include "exchange/topology.hpp"
#include "exchange/two_phase.hpp"

namespace sheaf::exchange {

namespace {

std::span<const std::byte> bytes_of(const std::vector<int64_t>& numbers, size_t i) {
  return std::as_bytes(std::span(numbers).subspan(i, 1));
}

}  // namespace

void TwoPhase::find_nodes() {
  if (!nodes_.empty()) return;
  const auto node = split_by_io_node(comm_);
  int64_t name = comm_.rank();
  node->broadcast(std::as_writable_bytes(std::span(&name, 1)), 0);
  nodes_.assign(static_cast<size_t>(comm_.size()), -1);
  nodes_[static_cast<size_t>(comm_.rank())] = name;
  comm_.all_max(nodes_);
}

void TwoPhase::plan_domains(const Access& access, const Windows& windows, int64_t unit, const layout::AggregatorRules& rules) {
  find_nodes();
  const auto all = layout::choose_aggregators(nodes_, rules);
  const Stretches stretches = unit > 0 ? Stretches::of_units(windows, unit) : Stretches{};
  aggregators_ = layout::subset_of(all, std::min(std::ssize(all), stretches.count(windows)));
  const auto found = std::ranges::find(aggregators_, comm_.rank());
  mine_ = found == aggregators_.end() ? -1 : found - aggregators_.begin();
  domains_ = Domains::of_stretches(windows, stretches, aggregators());
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

namespace {

// What tells the pieces of a task: how many bytes it has, how long the code is, and the code.
constexpr size_t head_bytes = 2 * sizeof(int64_t);

void put_list(std::span<std::byte> to, int64_t bytes, std::span<const std::byte> code) {
  store(to.data(), bytes, native_order);
  store(to.data() + sizeof bytes, std::ssize(code), native_order);
  std::ranges::copy(code, to.begin() + head_bytes);
}

int64_t bytes_in(std::span<const std::byte> list) { return load<int64_t>(list.data(), native_order); }

std::span<const std::byte> code_in(std::span<const std::byte> list) {
  return list.subspan(head_bytes, static_cast<size_t>(load<int64_t>(list.data() + sizeof(int64_t), native_order)));
}

}  // namespace

std::optional<Error> TwoPhase::plan_groups(const Access& access, std::span<const std::byte> code, const Group& group,
                                           const Load& largest) {
  begin_groups(group);
  // Two rounds are under way where there are several.
  const int64_t step = largest.bytes <= largest.each ? largest.each : std::max<int64_t>(1, largest.each / 2);
  const int64_t rounds = (largest.bytes + step - 1) / step;
  domains_ = Domains::of_shares(step, rounds);
  const int64_t room = static_cast<int64_t>(head_bytes) + largest.code;
  mail_.provide({room, std::min(largest.bytes, step), rounds > 1 ? 2 : 1});
  const uint32_t phase = mail_.begin_phases(1 + rounds);
  first_phase_ = phase + 1;
  if (mine_ >= 0) return learn_pieces(access, code, group, room, phase);
  tell_pieces(access, code, phase);
  return std::nullopt;
}

void TwoPhase::tell_pieces(const Access& access, std::span<const std::byte> code, uint32_t phase) {
  const int aggregator = aggregators_[0];
  std::vector<std::byte> list;
  std::vector<Outgoing> outgoing;
  if (is_near(aggregator)) {
    mail_.await_release(aggregator, phase - 2);
    put_list(mail_.code(comm_.rank()), access.bytes(), code);
    mail_.arrive(aggregator, phase);
  } else {
    list.resize(head_bytes + code.size());
    put_list(list, access.bytes(), code);
    outgoing.push_back({aggregator, list});
  }
  if (!mail_.reaches_all()) comm_.exchange(std::move(outgoing), {})->finish();
}

std::optional<Error> TwoPhase::learn_pieces(const Access& access, std::span<const std::byte> code, const Group& group, int64_t room,
                                            uint32_t phase) {
  const auto members = static_cast<size_t>(group.size());
  std::vector<std::byte> own(head_bytes + code.size());
  put_list(own, access.bytes(), code);
  std::vector<std::span<const std::byte>> lists(members);
  std::vector<Incoming> incoming;
  std::unique_ptr<std::byte[]> arrived;
  if (!mail_.reaches_all()) arrived = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(room) * members);
  int64_t near = 0;
  for (size_t i = 0; i < members; ++i) {
    const int task = group.first + static_cast<int>(i);
    if (task == comm_.rank()) {
      lists[i] = own;
    } else if (is_near(task)) {
      lists[i] = mail_.code(task);
      ++near;
    } else {
      const std::span place(arrived.get() + static_cast<size_t>(room) * i, static_cast<size_t>(room));
      incoming.push_back({task, place});
      lists[i] = place;
    }
  }
  if (!mail_.reaches_all()) comm_.exchange({}, std::move(incoming))->finish();
  if (near > 0) {
    mail_.expect(near, phase);
    mail_.await_arrivals(phase);
  }
  for (size_t i = 0; i < members; ++i) {
    const int64_t size = bytes_in(lists[i]);
    if (size == 0) continue;
    Sender& sender = senders_.emplace_back(Sender{group.first + static_cast<int>(i), size, {}});
    const auto failed = attempt([&] { sender.pieces = decode_pieces(code_in(lists[i])); });
    if (failed && !unknown_) unknown_ = failed;
  }
  if (mail_.has_boxes()) mail_.release(phase);
  return unknown_;
}

}  // namespace sheaf::exchange
