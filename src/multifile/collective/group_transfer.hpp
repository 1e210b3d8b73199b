// multifile/collective/group_transfer: transfers bytes between the members of a group and the collector of
// the group. The collector writes or reads the file.
//
// First every member sends its extents to the collector. Then the members with extents send or receive the
// bytes in steps, with one message per member and step (Comm::exchange). Two steps are in flight, so the
// bytes of the next step travel while the collector accesses the file. Only collectors access the file; tasks
// do not wait for the collectors of other groups. A program may replace the messages by its own transfer
// (multifile/collective/mover), which handles one extent of every member at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "comm/reduce.hpp"
#include "exchange/pieces/access_list.hpp"
#include "multifile/collective/collective_group.hpp"
#include "storage/file.hpp"

namespace sheaf::multifile {

// Throws on all tasks because a task cannot take part in a collective `call` on the file `path`. `mine` is
// the reason on that task. Collective over `file`.
[[noreturn]] void refuse_round(Comm& file, const std::optional<Error>& mine, const std::string& path,
                               const char* call);

class GroupTransfer {
 public:
  // Copies `group`. Its communicator group.file() must outlive the object. `mover` transfers the bytes and
  // must outlive the object; if it is null, messages transfer the bytes.
  explicit GroupTransfer(const CollectiveGroup& group, Mover* mover = nullptr)
      : group_(group), mover_(mover) {}

  // Limits that must be equal on all tasks of the file. `bytes` and `extents` are the maxima over the tasks.
  // `each` is the minimum over the collectors of the bytes reserved per member.
  struct Load {
    int64_t bytes = 0;
    int64_t extents = 0;
    int64_t each = 1;
    constexpr void combine(auto& by) { by.max(bytes).max(extents).min(each); }
  };
  // Values of a round that every task of the file needs.
  struct RoundFacts {
    bool failed = false;  // a task cannot take part
    int64_t request = 0;  // bytes of the largest request of the program since the last round
    Load load;
    constexpr void combine(auto& by) {
      by.any(failed).max(request);
      load.combine(by);
    }
  };

  const CollectiveGroup& group() const { return group_; }
  bool is_by_program() const { return mover_ != nullptr; }

  // Allocates the collector's memory for messages, `each` bytes per member. Local. Throws if the allocation
  // fails.
  void reserve(int64_t each) {
    // Two steps of at least one byte of each member are in flight.
    if (group_.is_collector() && !mover_)
      memory_ = line_memory(static_cast<size_t>(group_.size() * std::max<int64_t>(each, 2)));
  }

  // The following calls are collective over the tasks of the file; bytes move only inside each group. Apart
  // from std::bad_alloc (comm/collective_call), they never throw; they return the error of this task, if any.

  // Writes the bytes of all members. The extents of a member may overlap; the later one in its list wins.
  std::optional<Error> write(File& file, const exchange::Placed<const std::byte>& mine, const Load& largest);
  // Fills the memory of all members from the file. If a read fails, the collector returns the error.
  std::optional<Error> read(File& file, const exchange::Placed<std::byte>& mine, const Load& largest);

  // Called with parts of the members' bytes, in member order; each part belongs to one member. For the first
  // part of a member, `size` is the total number of bytes of that member; for later parts it is 0.
  using Append = std::function<void(std::span<const std::byte> bytes, int64_t size)>;
  // Passes the bytes of all members to `append` at the collector, concatenated in member order. `each` has
  // the meaning of Load::each.
  std::optional<Error> merge(std::span<const std::byte> mine, int64_t each, const Append& append);

 private:
  template <class Byte>
  std::optional<Error> move(File& file, const exchange::Placed<Byte>& mine, const Load& largest);

  CollectiveGroup group_;
  Mover* mover_;
  LineMemory memory_;
};

}  // namespace sheaf::multifile
