#include "collective/group_transfer.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "comm/agree.hpp"
#include "comm/rounds.hpp"
#include "exchange/transfer/hosts_file.hpp"

namespace sheaf {

using exchange::Extent;
using exchange::Placed;
using exchange::Step;

namespace {

template <class Byte>
std::span<Byte> part(std::span<Byte> bytes, int64_t from, int64_t most) {
  const auto begin = std::min(bytes.size(), static_cast<size_t>(from));
  return bytes.subspan(begin, std::min(bytes.size() - begin, static_cast<size_t>(most)));
}

}  // namespace

// At a collector: the extents of the members, room for `each` of them.
class GroupTransfer::Lists {
 public:
  Lists(int members, int64_t each)
      : each_(static_cast<size_t>(each)), extents_(static_cast<size_t>(members) * each_) {}

  std::span<std::byte> room(int member) {
    return std::as_writable_bytes(std::span(extents_).subspan(begin(member), each_));
  }
  // Of the members in their order.
  void arrived(int64_t list_bytes) {
    counts_.push_back(static_cast<size_t>(list_bytes) / sizeof(Extent));
    int64_t bytes = 0;
    for (const Extent& extent : of(static_cast<int>(counts_.size()) - 1)) bytes += extent.length;
    bytes_.push_back(bytes);
  }
  std::span<const Extent> of(int member) const {
    return std::span(extents_).subspan(begin(member), counts_[static_cast<size_t>(member)]);
  }
  int64_t bytes(int member) const { return bytes_[static_cast<size_t>(member)]; }

 private:
  size_t begin(int member) const { return static_cast<size_t>(member) * each_; }

  size_t each_;
  std::vector<Extent> extents_;
  std::vector<size_t> counts_;
  std::vector<int64_t> bytes_;  // that the extents have
};

// Two steps are under way where there are several.
struct GroupTransfer::Steps {
  explicit Steps(const Load& largest)
      : most(largest.bytes),
        bytes(most <= largest.each ? largest.each : std::max<int64_t>(1, largest.each / 2)),
        count((most + bytes - 1) / bytes) {}
  int64_t begin(int64_t step) const { return step * bytes; }
  int64_t length(int64_t step) const { return std::min(bytes, most - begin(step)); }

  int64_t most;
  int64_t bytes;  // of a member, per step
  int64_t count;
};

void GroupTransfer::reserve(int64_t each) {
  if (group_.is_collector()) memory_ = line_memory(static_cast<size_t>(group_.size() * each));
}

// Where the bytes of a step lie, `bytes` of them.
std::span<std::byte> GroupTransfer::room(int64_t step, int64_t bytes) const {
  return {memory_.get() + step % 2 * bytes, static_cast<size_t>(bytes)};
}

// One message from each member; who has nothing sends no other one.
GroupTransfer::Lists GroupTransfer::tell(std::span<const Extent> mine, int64_t most) {
  const int members = group_.is_collector() ? group_.size() : 0;
  Lists lists(members, most);
  std::vector<Incoming> incoming;
  for (int member = 0; member < members; ++member)
    incoming.push_back({group_.task(member), lists.room(member)});
  const auto received =
      group_.file()
          .exchange({{group_.task(group_.collector()), std::as_bytes(mine)}}, std::move(incoming))
          ->finish();
  for (const int64_t bytes : received) lists.arrived(bytes);
  return lists;
}

template <class Byte>
std::optional<Error> GroupTransfer::move(File& file, const Placed<Byte>& mine, const Load& largest) {
  constexpr bool writes = std::is_const_v<Byte>;
  const Steps steps(largest);
  const int members = group_.is_collector() ? group_.size() : 0;
  const Lists lists = tell(mine.extents, largest.extents);
  const auto own = [&](int64_t step) { return part(mine.memory, steps.begin(step), steps.bytes); };
  const auto theirs = [&](int64_t step, int member) {
    const int64_t bytes = std::clamp<int64_t>(lists.bytes(member) - steps.begin(step), 0, steps.bytes);
    return part(room(step, group_.size() * steps.bytes), member * steps.bytes, bytes);
  };
  std::optional<Error> problem;
  const auto at_file = [&](auto work) {
    if (members > 0 && !problem) problem = attempt(work);
  };
  const auto move_pieces = [&](int64_t step) {
    std::vector<Piece<Byte>> pieces;
    for (int member = 0; member < members; ++member)
      exchange::add_pieces(pieces,
                           {lists.of(member), member == group_.rank() ? own(step) : theirs(step, member)},
                           steps.begin(step));
    if constexpr (writes) {
      exchange::write_pieces(file, std::move(pieces));
    } else {
      exchange::read_pieces(file, std::move(pieces), exchange::gap_worth_reading);
    }
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
    for (int member = 0; member < members; ++member) {
      const auto bytes = theirs(step, member);
      if (member == group_.rank() || bytes.empty()) continue;
      if (writes) {
        incoming.push_back({group_.task(member), bytes});
      } else {  // what could not be read is not sent
        outgoing.push_back({group_.task(member), problem ? bytes.first(0) : bytes});
      }
    }
    return Step{std::move(outgoing), std::move(incoming)};
  };
  const auto use = [&](int64_t step, const std::vector<int64_t>&) {
    if (writes) at_file([&] { move_pieces(step); });
  };
  if (!writes) at_file([&] { exchange::from_server(file); });
  const auto failed = exchange::in_rounds(group_.file(), steps.count, prepare, use);
  if (!problem) problem = failed;
  if (writes) at_file([&] { exchange::to_server(file); });
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
  // Windows of the sequence, of which two are under way.
  const int64_t window = std::max<int64_t>(1, each / 2);
  int64_t windows = (total + window - 1) / window;
  group_.file().all_max(std::span(&windows, 1));
  // Of a member whose bytes begin there: what lies in a window.
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
    Step messages;
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
  return exchange::in_rounds(group_.file(), windows, prepare, use);
}

}  // namespace sheaf
