// How the tasks of a two-phase transfer learn what goes where.
#include <algorithm>
#include <memory>

#include "base/byte_order.hpp"
#include "comm/agree.hpp"
#include "exchange/groups/two_phase.hpp"
#include "exchange/pieces/piece_code.hpp"

namespace sheaf::exchange {

void TwoPhase::begin_groups(const Group& group) {
  aggregator_ = group.aggregator;
  mail_.serve(group.first, group.last, group.aggregator);
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
  return list.subspan(head_bytes,
                      static_cast<size_t>(load<int64_t>(list.data() + sizeof(int64_t), native_order)));
}

}  // namespace

std::optional<Error> TwoPhase::plan_groups(const Access& access, std::span<const std::byte> code,
                                           const Group& group, const Load& largest) {
  begin_groups(group);
  // Two rounds are under way where there are several.
  const int64_t step = largest.bytes <= largest.each ? largest.each : std::max<int64_t>(1, largest.each / 2);
  const int64_t rounds = (largest.bytes + step - 1) / step;
  step_ = step;
  steps_ = rounds;
  in_sequence_ = false;
  const int64_t room = static_cast<int64_t>(head_bytes) + largest.code;
  mail_.provide({room, std::min(largest.bytes, step), rounds > 1 ? 2 : 1});
  const uint64_t phase = mail_.begin_phases(1 + rounds);
  first_phase_ = phase + 1;
  if (leads()) return learn_pieces(access, code, group, room, phase);
  tell_pieces(access, code, phase);
  return std::nullopt;
}

void TwoPhase::tell_pieces(const Access& access, std::span<const std::byte> code, uint64_t phase) {
  std::vector<std::byte> list;
  std::vector<Outgoing> outgoing;
  if (!is_near(aggregator_)) {
    list.resize(head_bytes + code.size());
    put_list(list, access.bytes(), code);
    outgoing.push_back({aggregator_, list});
  }
  mail_.put(phase, [&] { put_list(mail_.code(comm_.rank()), access.bytes(), code); });
  if (!mail_.reaches_all()) comm_.exchange(std::move(outgoing), {})->finish();
}

std::optional<Error> TwoPhase::learn_pieces(const Access& access, std::span<const std::byte> code,
                                            const Group& group, int64_t room, uint64_t phase) {
  const auto members = static_cast<size_t>(group.size());
  std::vector<std::byte> own(head_bytes + code.size());
  put_list(own, access.bytes(), code);
  std::vector<std::span<const std::byte>> lists(members);
  std::vector<Incoming> incoming;
  std::unique_ptr<std::byte[]> arrived;
  if (!mail_.reaches_all())
    arrived = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(room) * members);
  for (size_t i = 0; i < members; ++i) {
    const int task = group.first + static_cast<int>(i);
    if (task == comm_.rank()) {
      lists[i] = own;
    } else if (is_near(task)) {
      lists[i] = mail_.code(task);
    } else {
      const std::span place(arrived.get() + static_cast<size_t>(room) * i, static_cast<size_t>(room));
      incoming.push_back({task, place});
      lists[i] = place;
    }
  }
  if (!mail_.reaches_all()) comm_.exchange({}, std::move(incoming))->finish();
  mail_.collect(phase, [&] {
    for (size_t i = 0; i < members; ++i) {
      const int64_t size = bytes_in(lists[i]);
      if (size == 0) continue;
      Sender& sender = senders_.emplace_back(Sender{group.first + static_cast<int>(i), size, {}});
      const auto failed = attempt([&] { sender.pieces = decode_pieces(code_in(lists[i])); });
      if (failed && !unknown_) unknown_ = failed;
    }
  });
  return unknown_;
}

}  // namespace sheaf::exchange
