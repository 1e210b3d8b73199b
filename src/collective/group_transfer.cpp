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

// The extents of the members at a collector, which has room for so many of each.
class Lists {
 public:
  Lists(int members, int64_t each)
      : each_(static_cast<size_t>(each)),
        extents_(static_cast<size_t>(members) * each_),
        sizes_(static_cast<size_t>(members)) {}

  std::span<std::byte> room(int member) {
    return std::as_writable_bytes(std::span(extents_).subspan(begin(member), each_));
  }
  void arrived(int member, int64_t bytes) {
    sizes_[static_cast<size_t>(member)] = static_cast<size_t>(bytes) / sizeof(Extent);
  }
  std::span<const Extent> of(int member) const {
    return std::span(extents_).subspan(begin(member), sizes_[static_cast<size_t>(member)]);
  }

 private:
  size_t begin(int member) const { return static_cast<size_t>(member) * each_; }

  size_t each_;
  std::vector<Extent> extents_;
  std::vector<size_t> sizes_;
};

}  // namespace

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
  if (group_.is_collector())
    memory_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(group_.size() * each));
}

// Where the bytes of a step lie, `bytes` of them.
std::span<std::byte> GroupTransfer::room(int64_t step, int64_t bytes) const {
  return {memory_.get() + step % 2 * bytes, static_cast<size_t>(bytes)};
}

std::optional<Error> GroupTransfer::write(File& file, const Placed<const std::byte>& mine,
                                          const Load& largest) {
  const Steps steps(largest);
  const bool collects = group_.is_collector();
  const int64_t all = group_.size() * steps.bytes;
  Lists lists(collects ? group_.size() : 0, largest.extents);
  const auto prepare = [&](int64_t step) {
    Step messages;
    if (!collects) {
      const int collector = group_.task(group_.collector());
      if (step == 0) messages.outgoing.push_back({collector, std::as_bytes(mine.extents)});
      messages.outgoing.push_back({collector, part(mine.memory, steps.begin(step), steps.bytes)});
      return messages;
    }
    for (int member = 0; member < group_.size(); ++member) {
      if (member == group_.rank()) continue;
      if (step == 0) messages.incoming.push_back({group_.task(member), lists.room(member)});
      messages.incoming.push_back(
          {group_.task(member), part(room(step, all), member * steps.bytes, steps.length(step))});
    }
    return messages;
  };
  const auto use = [&](int64_t step, const std::vector<int64_t>& received) {
    if (!collects) return;
    std::vector<Piece<const std::byte>> pieces;
    auto bytes = received.begin();
    for (int member = 0; member < group_.size(); ++member) {
      if (member == group_.rank()) {
        exchange::add_pieces(pieces, {mine.extents, part(mine.memory, steps.begin(step), steps.bytes)},
                             steps.begin(step));
        continue;
      }
      if (step == 0) lists.arrived(member, *bytes++);
      const std::span<const std::byte> arrived = part(room(step, all), member * steps.bytes, *bytes++);
      exchange::add_pieces(pieces, {lists.of(member), arrived}, steps.begin(step));
    }
    exchange::write_pieces(file, std::move(pieces));
  };
  const auto failed = exchange::in_rounds(group_.file(), steps.count, prepare, use);
  if (failed || !collects) return failed;
  return attempt([&] { exchange::to_server(file); });
}

std::optional<Error> GroupTransfer::read(File& file, const Placed<std::byte>& mine, const Load& largest) {
  const Steps steps(largest);
  const bool collects = group_.is_collector();
  const int64_t all = group_.size() * steps.bytes;
  const int collector = group_.task(group_.collector());
  Lists lists(collects ? group_.size() : 0, largest.extents);
  std::vector<int64_t> sizes;  // bytes that the members want
  {
    std::vector<Incoming> incoming;
    for (int member = 0; collects && member < group_.size(); ++member)
      incoming.push_back({group_.task(member), lists.room(member)});
    const auto received =
        group_.file().exchange({{collector, std::as_bytes(mine.extents)}}, std::move(incoming))->finish();
    for (int member = 0; collects && member < group_.size(); ++member) {
      lists.arrived(member, received[static_cast<size_t>(member)]);
      int64_t& size = sizes.emplace_back(0);
      for (const Extent& extent : lists.of(member)) size += extent.length;
    }
  }
  std::optional<Error> problem;
  if (collects) problem = attempt([&] { exchange::from_server(file); });
  const auto prepare = [&](int64_t step) {
    Step messages;
    const int64_t from = steps.begin(step);
    const auto wanted = part(mine.memory, from, steps.bytes);
    if (!collects) {
      if (!wanted.empty()) messages.incoming.push_back({collector, wanted});
      return messages;
    }
    std::vector<Piece<std::byte>> pieces;
    for (int member = 0; member < group_.size(); ++member) {
      const int64_t bytes = std::clamp<int64_t>(sizes[static_cast<size_t>(member)] - from, 0, steps.bytes);
      const bool own = member == group_.rank();
      const auto memory = own ? wanted : part(room(step, all), member * steps.bytes, bytes);
      exchange::add_pieces(pieces, {lists.of(member), memory}, from);
      if (!own && bytes > 0) messages.outgoing.push_back({group_.task(member), memory});
    }
    const auto failed =
        attempt([&] { exchange::read_pieces(file, std::move(pieces), exchange::gap_worth_reading); });
    // Who has nothing sends no bytes.
    for (Outgoing& message : messages.outgoing)
      if (failed) message.bytes = {};
    if (failed && !problem) problem = failed;
    return messages;
  };
  const auto failed =
      exchange::in_rounds(group_.file(), steps.count, prepare, [](int64_t, const std::vector<int64_t>&) {});
  return problem ? problem : failed;
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
