#include "streams/container/sums/room_index.hpp"

#include <algorithm>
#include <tuple>

#include "base/assert.hpp"

namespace sheaf::streams {

using format::RecordKind;
using format::summed_block;

void RoomIndex::add(const format::ContainerRecord& record, int64_t place) {
  if (record.kind == RecordKind::piece && record.room) {
    rooms_.push_back({record.place, place + format::end_word_at});
    if (record.slots > 0)
      slots_.push_back({record.place, 0, record.slots, place + format::piece_head_size(record)});
  } else if (record.kind == RecordKind::sums && record.slots > 0) {
    slots_.push_back({record.place, record.first_block, record.slots, place + format::slots_at});
  }
}

void RoomIndex::sort() {
  std::ranges::sort(rooms_, {}, &IndexedRoom::place);
  std::ranges::sort(slots_, {}, [](const Slots& one) { return std::tuple(one.room, one.first); });
}

RoomIndex::RoomSums RoomIndex::find(int64_t place) const {
  SHEAF_DEBUG_ASSERT(std::ranges::is_sorted(rooms_, {}, &IndexedRoom::place));
  const auto next = std::ranges::upper_bound(rooms_, place, {}, &IndexedRoom::place);
  RoomSums found{{}, next == rooms_.end() ? INT64_MAX : next->place};
  if (next == rooms_.begin()) return found;
  const IndexedRoom& room = *std::prev(next);
  found.sums = {.room = room.place, .end_at = room.end_at};
  const int64_t block = found.sums.block_at(place);
  const auto limit = [&](int64_t end_block) {
    if (end_block <= (INT64_MAX - room.place) / summed_block)
      found.end = std::min(found.end, found.sums.place_of(end_block));
  };
  const auto behind =
      std::ranges::upper_bound(slots_, std::tuple(room.place, block), {},
                               [](const Slots& one) { return std::tuple(one.room, one.first); });
  if (behind != slots_.end() && behind->room == room.place) limit(behind->first);
  if (behind == slots_.begin()) return found;
  const Slots& slots = *std::prev(behind);
  if (slots.room != room.place || block >= slots.first + slots.count) return found;
  found.sums = {room.place, slots.first, slots.count, slots.at, room.end_at};
  limit(slots.first + slots.count);
  return found;
}

}  // namespace sheaf::streams
