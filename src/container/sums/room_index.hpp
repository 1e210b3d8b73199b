// container/sums/room_index: which words of a container have the checksums of a place. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "container/sums/block_sums.hpp"
#include "format/container.hpp"

namespace sheaf {

class RoomIndex {
 public:
  // A record of the container, which is at `place` there. Others than those of rooms and slots are ignored.
  void add(const format::ContainerRecord& record, int64_t place);
  // After the last of them.
  void sort();

  struct Found {
    BlockSums sums;  // no room: there are no checksums
    int64_t end;     // the first place behind `place` for which they are others
  };
  Found find(int64_t place) const;

 private:
  struct Room {
    int64_t place;
    int64_t end_at;
  };
  struct Slots {
    int64_t room;
    int64_t first;
    int64_t count;
    int64_t at;
  };
  std::vector<Room> rooms_;   // by their places
  std::vector<Slots> slots_;  // by room and first block
};

}  // namespace sheaf
