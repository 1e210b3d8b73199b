// collective/group_transfer: bytes of the members of a group go to its collector, which writes them, or come
// from there.
//
// First every member tells where in the file its bytes are; then those that have any get or send them, as
// single messages (Comm::exchange), in steps of which two are under way: while a collector works on the file,
// the bytes of the next step travel. Only collectors touch the file, and nobody waits for them. A program may
// bring the bytes itself (collective/mover), one extent of every member at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "collective/collective_group.hpp"
#include "exchange/pieces/access_list.hpp"
#include "storage/file.hpp"

namespace sheaf {

class GroupTransfer {
 public:
  // `group` by value; the tasks of its file outlive the object, as `mover` does, which moves the bytes that
  // are read or written; null: messages do.
  explicit GroupTransfer(const CollectiveGroup& group, Mover* mover = nullptr)
      : group_(group), mover_(mover) {}

  // What all tasks of the file must know of each other: the most that a task has, and the least that a
  // collector has reserved.
  struct Load {
    int64_t bytes = 0;
    int64_t extents = 0;
    int64_t each = 1;
  };

  // Local: memory of a collector for messages, for so many bytes of each member. Throws if there is none.
  void reserve(int64_t each);

  // The calls below are collective over the tasks of the file, each with its group. Nothing is thrown;
  // returns what went wrong here.

  // Extents may overlap, and the later one wins.
  std::optional<Error> write(File& file, const exchange::Placed<const std::byte>& mine, const Load& largest);
  // Fills the memory, or returns an error on the collector.
  std::optional<Error> read(File& file, const exchange::Placed<std::byte>& mine, const Load& largest);

  // Bytes of a member, or some of them, that follow those of the members before. `size`: of all bytes of the
  // member where these are the first of them, else 0.
  using Append = std::function<void(std::span<const std::byte> bytes, int64_t size)>;
  // The members' bytes, one member behind the other, at the collector. `each`: as in Load.
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
