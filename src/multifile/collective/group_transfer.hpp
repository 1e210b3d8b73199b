// multifile/collective/group_transfer: transfers bytes between the members of a group and its collector,
// which writes or reads the file.
//
// First every member sends its extents to the collector. Then the members with extents send or receive the
// bytes, as single messages (Comm::exchange). Two steps are in flight: the bytes of the next step travel
// while the collector accesses the file. Only collectors access the file, and no other task waits for them. A
// program may transfer the bytes itself (multifile/collective/mover), one extent of every member at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "exchange/pieces/access_list.hpp"
#include "multifile/collective/collective_group.hpp"
#include "storage/file.hpp"

namespace sheaf {

class GroupTransfer {
 public:
  // Copies `group`; the tasks of its file must outlive the object. mover: transfers the bytes, and must
  // outlive the object; null: messages transfer them.
  explicit GroupTransfer(const CollectiveGroup& group, Mover* mover = nullptr)
      : group_(group), mover_(mover) {}

  // Bounds that all tasks of the file must agree on: the maximum of `bytes` and `extents` over the tasks, and
  // the minimum of `each` that a collector has reserved.
  struct Load {
    int64_t bytes = 0;
    int64_t extents = 0;
    int64_t each = 1;
  };

  // Allocates the collector's memory for messages, `each` bytes per member. Local. Throws if the allocation
  // fails.
  void reserve(int64_t each);

  // The following calls are collective over the tasks of the file, each with its group. They throw nothing
  // and return the error of this task.

  // Writes the bytes of all members. Extents may overlap; the later one wins.
  std::optional<Error> write(File& file, const exchange::Placed<const std::byte>& mine, const Load& largest);
  // Fills the memory of all members, or returns an error at the collector.
  std::optional<Error> read(File& file, const exchange::Placed<std::byte>& mine, const Load& largest);

  // Receives consecutive bytes of the members, in member order. `size` is the total of a member with its
  // first bytes, and 0 with the following ones.
  using Append = std::function<void(std::span<const std::byte> bytes, int64_t size)>;
  // Passes the bytes of all members to `append` at the collector, concatenated in member order. each: as in
  // Load.
  std::optional<Error> merge(std::span<const std::byte> mine, int64_t each, const Append& append);

 private:
  template <class Byte>
  std::optional<Error> move_by_program(File& file, const exchange::Placed<Byte>& mine, int64_t steps) const;
  template <class Byte>
  std::optional<Error> move(File& file, const exchange::Placed<Byte>& mine, const Load& largest);
  std::span<std::byte> room(int64_t step, int64_t bytes) const;

  CollectiveGroup group_;
  Mover* mover_;
  LineMemory memory_;
};

}  // namespace sheaf
