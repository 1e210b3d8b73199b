// streams/container/sums/room_index: maps a place of a container to the words with its checksums. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "format/container.hpp"
#include "streams/container/sums/block_sums.hpp"

namespace sheaf::streams {

class RoomIndex {
 public:
  // Adds the record at `place` of the container. Ignores records without rooms or slots.
  void add(const format::ContainerRecord& record, int64_t place);
  // Sorts the index. Must be called after the last add() and before find().
  void sort();

  struct RoomSums {
    BlockSums sums;  // no room if the place has no checksums
    int64_t end;     // first place after `place` to which `sums` do not apply
  };
  RoomSums find(int64_t place) const;

 private:
  struct IndexedRoom {
    int64_t place;
    int64_t end_at;
  };
  struct Slots {
    int64_t room;
    int64_t first;
    int64_t count;
    int64_t at;
  };
  std::vector<IndexedRoom> rooms_;  // sorted by place
  std::vector<Slots> slots_;        // sorted by room and first block
};

}  // namespace sheaf::streams
