#include "multifile/collective/group_transfer.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "comm/agree.hpp"
#include "comm/rounds.hpp"
#include "exchange/transfer/non_coherent_file.hpp"

namespace sheaf::multifile {

using exchange::Placed;

namespace {

template <class Byte>
std::span<Byte> part(std::span<Byte> bytes, int64_t from, int64_t most) {
  const auto begin = std::min(bytes.size(), static_cast<size_t>(from));
  return bytes.subspan(begin, std::min(bytes.size() - begin, static_cast<size_t>(most)));
}

template <class Byte>
void transfer_pieces(File& file, std::vector<Piece<Byte>> pieces) {
  if constexpr (std::is_const_v<Byte>) {
    exchange::write_pieces(file, std::move(pieces));
  } else {
    exchange::read_pieces(file, std::move(pieces), exchange::gap_worth_reading);
  }
}

}  // namespace

// Allocates at least 2 bytes per member, because two steps of at least one byte each are in flight.
void GroupTransfer::reserve(int64_t each) {
  const int64_t bytes = group_.size() * std::max<int64_t>(each, 2);
  if (group_.is_collector() && !mover_) memory_ = line_memory(static_cast<size_t>(bytes));
}

// Returns the memory of a step, which has `bytes` bytes. Even and odd steps use different memory.
std::span<std::byte> GroupTransfer::room(int64_t step, int64_t bytes) const {
  SHEAF_ASSERT(memory_ && step >= 0 && bytes >= 0);
  return {memory_.get() + step % 2 * bytes, static_cast<size_t>(bytes)};
}

// Lets the program's mover transfer the bytes. First the collector accesses its own extents; then each step
// transfers one extent of every member. All steps are made even after a failure, so that no member waits
// forever.
template <class Byte>
std::optional<Error> GroupTransfer::move_by_program(File& file, const Placed<Byte>& mine,
                                                    int64_t steps) const {
  constexpr bool writes = std::is_const_v<Byte>;
  std::vector<Piece<Byte>> pieces;
  std::optional<Error> problem = attempt([&] { exchange::add_pieces(pieces, mine); });
  if (group_.is_collector()) {
    if (!problem) problem = attempt([&] { transfer_pieces(file, std::move(pieces)); });
    pieces.clear();
  }
  if (group_.size() == 1) return problem;
  for (int64_t step = 0; step < steps; ++step) {
    const auto piece = step < std::ssize(pieces) ? pieces[static_cast<size_t>(step)] : Piece<Byte>{};
    attempt(problem, [&] {
      if constexpr (writes) {
        mover_->gather(piece.memory, piece.offset, group_.tasks(),
                       [&](std::span<Byte> data, int64_t offset) { file.write_at(data, offset); });
      } else {
        mover_->scatter(piece.memory, piece.offset, group_.tasks(),
                        [&](std::span<Byte> data, int64_t offset) {
                          exchange::read_pieces(file, {{offset, data}}, 0);
                        });
      }
    });
  }
  return problem;
}

template <class Byte>
std::optional<Error> GroupTransfer::move(File& file, const Placed<Byte>& mine, const Load& largest) {
  if (mover_) return move_by_program(file, mine, largest.extents);
  constexpr bool writes = std::is_const_v<Byte>;
  const auto members = static_cast<size_t>(group_.is_collector() ? group_.size() : 0);
  // Every member sends one message with its extents. A member without extents sends nothing else.
  const auto room_of_each = static_cast<size_t>(largest.extents);
  std::vector<Extent> extents(members * room_of_each);
  std::vector<std::span<Extent>> lists;
  std::vector<Incoming> told;
  for (size_t member = 0; member < members; ++member) {
    lists.push_back(std::span(extents).subspan(member * room_of_each, room_of_each));
    told.push_back({group_.task(static_cast<int>(member)), std::as_writable_bytes(lists[member])});
  }
  const std::vector<int64_t> received =
      group_.file()
          .exchange({{group_.task(group_.collector()), std::as_bytes(mine.extents)}}, std::move(told))
          ->finish();
  std::vector<int64_t> sizes(members);
  for (size_t member = 0; member < members; ++member) {
    lists[member] = lists[member].first(static_cast<size_t>(received[member]) / sizeof(Extent));
    for (const Extent& extent : lists[member]) sizes[member] += extent.length;
  }
  // With several steps, two are in flight, and each uses half of the memory.
  const int64_t at_once =
      largest.bytes <= largest.each ? largest.each : std::max<int64_t>(1, largest.each / 2);
  const int64_t steps = (largest.bytes + at_once - 1) / at_once;
  const auto own = [&](int64_t step) { return part(mine.memory, step * at_once, at_once); };
  const auto theirs = [&](int64_t step, size_t member) {
    const int64_t bytes = std::clamp<int64_t>(sizes[member] - step * at_once, 0, at_once);
    return part(room(step, group_.size() * at_once), static_cast<int64_t>(member) * at_once, bytes);
  };
  const auto own_number = static_cast<size_t>(group_.rank());
  std::optional<Error> problem;
  const auto at_file = [&](auto work) {
    if (members > 0 && !problem) problem = attempt(work);
  };
  const auto move_pieces = [&](int64_t step) {
    std::vector<Piece<Byte>> pieces;
    for (size_t member = 0; member < members; ++member)
      exchange::add_pieces(pieces, {lists[member], member == own_number ? own(step) : theirs(step, member)},
                           step * at_once);
    transfer_pieces(file, std::move(pieces));
  };
  const auto prepare = [&](int64_t step) {
    if (!writes) at_file([&] { move_pieces(step); });
    std::vector<Outgoing> outgoing;
    std::vector<Incoming> incoming;
    if (members == 0 && !own(step).empty()) {
      const int collector = group_.task(group_.collector());
      if constexpr (writes) {
        outgoing.push_back({collector, own(step)});
      } else {
        incoming.push_back({collector, own(step)});
      }
    }
    for (size_t member = 0; member < members; ++member) {
      const auto bytes = theirs(step, member);
      if (member == own_number || bytes.empty()) continue;
      const int task = group_.task(static_cast<int>(member));
      if (writes) {
        incoming.push_back({task, bytes});
      } else {  // data that could not be read are not sent
        outgoing.push_back({task, problem ? bytes.first(0) : bytes});
      }
    }
    return StepMessages{std::move(outgoing), std::move(incoming)};
  };
  const auto use = [&](int64_t step, const std::vector<int64_t>&) {
    if (writes) at_file([&] { move_pieces(step); });
  };
  if (!writes) at_file([&] { exchange::revalidate_reads(file); });
  const auto failed = in_rounds(group_.file(), steps, prepare, use);
  if (!problem) problem = failed;
  if (writes) at_file([&] { exchange::publish_writes(file); });
  return problem;
}

std::optional<Error> GroupTransfer::write(File& file, const Placed<const std::byte>& mine,
                                          const Load& largest) {
  return move(file, mine, largest);
}

std::optional<Error> GroupTransfer::read(File& file, const Placed<std::byte>& mine, const Load& largest) {
  return move(file, mine, largest);
}

std::optional<Error> GroupTransfer::merge(std::span<const std::byte> mine, int64_t each,
                                          const Append& append) {
  const int64_t size = std::ssize(mine);
  const std::vector<int64_t> sizes = group_.gather(size);
  std::vector<int64_t> begins;
  int64_t total = 0;
  for (const int64_t bytes : sizes) begins.push_back(std::exchange(total, total + bytes));
  const int64_t begin = group_.deal(begins);
  // The concatenated bytes are sent in windows. Two windows are in flight.
  const int64_t window = std::max<int64_t>(1, each / 2);
  int64_t windows = (total + window - 1) / window;
  group_.file().all_max(std::span(&windows, 1));
  // Returns the part of a window that belongs to a member with `bytes` bytes at position `at`, as offsets
  // within the member's bytes.
  const auto range = [&](int64_t step, int64_t at, int64_t bytes) {
    const int64_t from = std::clamp<int64_t>(step * window - at, 0, bytes);
    return std::pair(from, std::clamp<int64_t>((step + 1) * window - at, 0, bytes));
  };
  const auto each_part = [&](int64_t step, auto use) {
    for (size_t m = 0; m < sizes.size(); ++m) {
      const auto [from, to] = range(step, begins[m], sizes[m]);
      if (from < to) use(static_cast<int>(m), from, to);
    }
  };
  const auto prepare = [&](int64_t step) {
    StepMessages messages;
    const auto [from, to] = range(step, begin, size);
    if (from < to && !group_.is_collector())
      messages.outgoing.push_back({group_.task(group_.collector()), part(mine, from, to - from)});
    each_part(step, [&](int member, int64_t first, int64_t last) {
      const int64_t at = begins[static_cast<size_t>(member)] + first - step * window;
      if (member != group_.rank())
        messages.incoming.push_back({group_.task(member), part(room(step, window), at, last - first)});
    });
    return messages;
  };
  const auto use = [&](int64_t step, const std::vector<int64_t>&) {
    each_part(step, [&](int member, int64_t first, int64_t last) {
      const auto m = static_cast<size_t>(member);
      const std::span<const std::byte> bytes =
          member == group_.rank() ? part(mine, first, last - first)
                                  : part(room(step, window), begins[m] + first - step * window, last - first);
      append(bytes, first == 0 ? sizes[m] : 0);
    });
  };
  return in_rounds(group_.file(), windows, prepare, use);
}

}  // namespace sheaf::multifile
