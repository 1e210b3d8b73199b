#include "multifile/collective/group_transfer.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "comm/agree.hpp"
#include "comm/rounds.hpp"
#include "layout/extent_code.hpp"

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

// Returns the memory of a step, which has `bytes` bytes. Even and odd steps use different memory.
std::span<std::byte> room(const LineMemory& memory, int64_t step, int64_t bytes) {
  SHEAF_ASSERT(memory && step >= 0 && bytes >= 0);
  return {memory.get() + step % 2 * bytes, static_cast<size_t>(bytes)};
}

// A transfer between the members of a group and its collector by messages.
template <class Byte>
class SteppedTransfer {
 public:
  // Every member sends its extents to its collector, in one message. Collective over the file.
  SteppedTransfer(const CollectiveGroup& group, const LineMemory& memory, const Placed<Byte>& mine,
                  const GroupTransfer::Load& largest)
      : group_(group),
        memory_(memory),
        mine_(mine),
        // With several steps, two are in flight, and each uses half of the memory.
        at_once_(largest.bytes <= largest.each ? largest.each : std::max<int64_t>(1, largest.each / 2)) {
    const Gathered lists = group.gather(layout::encode_extents(mine.extents),
                                        layout::max_list_code(static_cast<size_t>(largest.extents)));
    members_.resize(lists.sizes.size());
    const std::vector<std::span<const std::byte>> codes = lists.pieces();
    for (size_t i = 0; i < members_.size(); ++i) {
      members_[i].number = static_cast<int>(i);
      layout::for_each_run(codes[i],
                           [&](const layout::Run& run) { members_[i].bytes += run.length * run.count; });
    }
    // The sizes of all messages are known now, so the steps run even if there is no memory for the extents.
    problem_ = attempt([&] {
      for (size_t i = 0; i < members_.size(); ++i)
        members_[i].extents = layout::decode_extents(codes[i], largest.extents);
    });
  }

  // Transfers the bytes of all members, at most `most` of each. Collective over the file. A member without
  // extents sends and receives nothing.
  std::optional<Error> run(File& file, int64_t most) {
    const auto failed = in_rounds(
        group_.file(), (most + at_once_ - 1) / at_once_,
        [&](int64_t step) {
          if (!writes) at_file([&] { move_pieces(file, step); });
          return group_.is_collector() ? messages_of_collector(step) : messages_of_member(step);
        },
        [&](int64_t step, const std::vector<int64_t>&) {
          if (writes) at_file([&] { move_pieces(file, step); });
        });
    if (!problem_) problem_ = failed;
    return problem_;
  }

 private:
  static constexpr bool writes = std::is_const_v<Byte>;
  struct GroupMember {
    int number = 0;
    std::vector<Extent> extents = {};
    int64_t bytes = 0;  // of all extents
  };

  template <class Work>
  void at_file(Work work) {
    if (group_.is_collector() && !problem_) problem_ = attempt(work);
  }
  std::span<Byte> own(int64_t step) const { return part(mine_.memory, step * at_once_, at_once_); }
  // Returns the collector's memory for the bytes of a member in a step.
  std::span<std::byte> memory_of(const GroupMember& member, int64_t step) const {
    return part(room(memory_, step, group_.size() * at_once_), member.number * at_once_,
                std::clamp<int64_t>(member.bytes - step * at_once_, 0, at_once_));
  }
  bool is_own(const GroupMember& member) const { return member.number == group_.rank(); }

  // Writes or reads the bytes of all members in a step.
  void move_pieces(File& file, int64_t step) const {
    std::vector<Piece<Byte>> pieces;
    for (const GroupMember& member : members_)
      exchange::add_pieces(pieces, {member.extents, is_own(member) ? own(step) : memory_of(member, step)},
                           step * at_once_);
    transfer_pieces(file, std::move(pieces));
  }

  StepMessages messages_of_member(int64_t step) const {
    StepMessages messages;
    const auto bytes = own(step);
    if (bytes.empty()) return messages;
    const int collector = group_.task(group_.collector());
    if constexpr (writes) {
      messages.outgoing.push_back({collector, bytes});
    } else {
      messages.incoming.push_back({collector, bytes});
    }
    return messages;
  }

  StepMessages messages_of_collector(int64_t step) const {
    StepMessages messages;
    for (const GroupMember& member : members_) {
      const auto bytes = memory_of(member, step);
      if (is_own(member) || bytes.empty()) continue;
      const int task = group_.task(member.number);
      if (writes) {
        messages.incoming.push_back({task, bytes});
      } else {  // data that could not be read are not sent
        messages.outgoing.push_back({task, problem_ ? bytes.first(0) : bytes});
      }
    }
    return messages;
  }

  const CollectiveGroup& group_;
  const LineMemory& memory_;
  const Placed<Byte> mine_;
  const int64_t at_once_;             // bytes of each member in a step
  std::vector<GroupMember> members_;  // at the collector
  std::optional<Error> problem_;
};

// Lets the program's mover transfer the bytes. First the collector accesses its own extents; then each step
// transfers one extent of every member. All steps are made even after a failure, so that no member waits
// forever.
template <class Byte>
std::optional<Error> move_by_program(const CollectiveGroup& group, Mover& mover, File& file,
                                     const Placed<Byte>& mine, int64_t steps) {
  constexpr bool writes = std::is_const_v<Byte>;
  std::vector<Piece<Byte>> pieces;
  std::optional<Error> problem = attempt([&] { exchange::add_pieces(pieces, mine); });
  if (group.is_collector()) {
    if (!problem) problem = attempt([&] { transfer_pieces(file, std::move(pieces)); });
    pieces.clear();
  }
  if (group.size() == 1) return problem;
  for (int64_t step = 0; step < steps; ++step) {
    const auto piece = step < std::ssize(pieces) ? pieces[static_cast<size_t>(step)] : Piece<Byte>{};
    attempt(problem, [&] {
      if constexpr (writes) {
        mover.gather(piece.memory, piece.offset, group.tasks(),
                     [&](std::span<Byte> data, int64_t offset) { file.write_at(data, offset); });
      } else {
        mover.scatter(piece.memory, piece.offset, group.tasks(), [&](std::span<Byte> data, int64_t offset) {
          exchange::read_pieces(file, {{offset, data}}, 0);
        });
      }
    });
  }
  return problem;
}

}  // namespace

void refuse_round(Comm& file, const std::optional<Error>& mine, const std::string& path, const char* call) {
  agree(file, mine);
  throw Error(Code::io, "'" + path + "': a task could not take part in a collective " + call);
}

template <class Byte>
std::optional<Error> GroupTransfer::move(File& file, const Placed<Byte>& mine, const Load& largest) {
  if (mover_) return move_by_program(group_, *mover_, file, mine, largest.extents);
  return SteppedTransfer<Byte>(group_, memory_, mine, largest).run(file, largest.bytes);
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
  // Returns the memory for bytes [first, last) of a member in a window.
  const auto in_window = [&](int64_t step, int member, int64_t first, int64_t last) {
    return part(room(memory_, step, window), begins[static_cast<size_t>(member)] + first - step * window,
                last - first);
  };
  return in_rounds(
      group_.file(), windows,
      [&](int64_t step) {
        StepMessages messages;
        const auto [from, to] = range(step, begin, size);
        if (from < to && !group_.is_collector())
          messages.outgoing.push_back({group_.task(group_.collector()), part(mine, from, to - from)});
        each_part(step, [&](int member, int64_t first, int64_t last) {
          if (member != group_.rank())
            messages.incoming.push_back({group_.task(member), in_window(step, member, first, last)});
        });
        return messages;
      },
      [&](int64_t step, const std::vector<int64_t>&) {
        each_part(step, [&](int member, int64_t first, int64_t last) {
          const std::span<const std::byte> bytes = member == group_.rank()
                                                       ? part(mine, first, last - first)
                                                       : in_window(step, member, first, last);
          append(bytes, first == 0 ? sizes[static_cast<size_t>(member)] : 0);
        });
      });
}

}  // namespace sheaf::multifile
