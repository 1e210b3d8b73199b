#include "exchange/transfer/held_extents.hpp"

#include <algorithm>
#include <iterator>
#include <memory>

#include "base/assert.hpp"
#include "layout/each_piece.hpp"

namespace sheaf::exchange {

using layout::TypeMap;

// Appends stream bytes [from, to) of the access to `bytes_`. Returns the place of the first one.
int64_t HeldExtents::append(const FileAccess& access, int64_t from, int64_t to) {
  const size_t place = bytes_.size();
  bytes_.resize(place + static_cast<size_t>(to - from));
  pack(access, from, to, bytes_.data() + place);
  return static_cast<int64_t>(place);
}

// Removes [begin, end) from all extents.
void HeldExtents::erase(int64_t begin, int64_t end) {
  SHEAF_DEBUG_ASSERT(begin <= end);
  const auto cut_at_end = [&](int64_t first, const HeldExtent& extent) {
    extents_.emplace(end, HeldExtent{extent.end, extent.place + (end - first)});
  };
  auto at = extents_.lower_bound(begin);
  if (at != extents_.begin() && std::prev(at)->second.end > begin) {
    auto& [first, extent] = *std::prev(at);
    if (extent.end > end) cut_at_end(first, extent);  // first, because it may throw
    extent.end = begin;
  }
  while (at != extents_.end() && at->first < end) {
    if (at->second.end > end) cut_at_end(at->first, at->second);
    at = extents_.erase(at);
  }
}

// Adds an extent; its bytes are at `place`. Extends the preceding extent if that ends where the new one
// begins, both in the file and in memory.
void HeldExtents::insert(int64_t begin, int64_t end, int64_t place) {
  erase(begin, end);
  const auto next = extents_.lower_bound(begin);
  if (next != extents_.begin()) {
    auto& [first, before] = *std::prev(next);
    if (before.end == begin && before.place + (before.end - first) == place) {
      before.end = end;
      return;
    }
  }
  extents_.emplace_hint(next, begin, HeldExtent{end, place});
}

void HeldExtents::add(const FileAccess& access) {
  if (access.bytes() <= 0) return;
  int64_t place = append(access, access.from, access.to);
  layout::for_each_piece(*access.filetype, access.displacement, access.from, access.to,
                         [&](int64_t offset, int64_t length) {
                           insert(offset, offset + length, place);
                           place += length;
                         });
}

void HeldExtents::remove(const FileAccess& access) {
  if (is_empty() || access.bytes() <= 0) return;
  layout::for_each_piece(*access.filetype, access.displacement, access.from, access.to,
                         [&](int64_t offset, int64_t length) { erase(offset, offset + length); });
}

// Calls use(offset, length, position, place) for every part of the access that lies in an extent: its offset
// in the file, its position in the stream of the access, and the place of its bytes.
template <class Use>
void HeldExtents::for_each_overlap(const FileAccess& access, Use use) const {
  if (is_empty() || access.bytes() <= 0) return;
  int64_t position = access.from;
  layout::for_each_piece(
      *access.filetype, access.displacement, access.from, access.to, [&](int64_t offset, int64_t length) {
        auto at = extents_.upper_bound(offset);
        if (at != extents_.begin()) --at;
        for (; at != extents_.end() && at->first < offset + length; ++at) {
          const int64_t low = std::max(offset, at->first), high = std::min(offset + length, at->second.end);
          if (low < high)
            use(low, high - low, position + (low - offset), at->second.place + (low - at->first));
        }
        position += length;
      });
}

void HeldExtents::add_overlap(const FileAccess& access, const HeldExtents& other) {
  SHEAF_ASSERT(&other != this);
  other.for_each_overlap(access, [&](int64_t offset, int64_t length, int64_t position, int64_t) {
    insert(offset, offset + length, append(access, position, position + length));
  });
}

int64_t HeldExtents::copy_to(const FileAccess& access) const {
  int64_t copied = 0;
  for_each_overlap(access, [&](int64_t, int64_t length, int64_t position, int64_t place) {
    unpack(access, position, position + length, bytes_.data() + place);
    copied += length;
  });
  return copied;
}

FileAccess HeldExtents::access() const {
  SHEAF_ASSERT(!is_empty());
  struct ExtentTypes {
    TypeMap file, memory;
  };
  const int64_t begin = extents_.begin()->first;
  std::vector<int64_t> lengths, offsets, places;
  for (const auto& [first, extent] : extents_) {
    lengths.push_back(extent.end - first);
    offsets.push_back(first - begin);
    places.push_back(extent.place);
  }
  const TypeMap byte = TypeMap::bytes(1);
  const auto types = std::make_shared<const ExtentTypes>(ExtentTypes{
      TypeMap::indexed(lengths, offsets, byte).set_apart(), TypeMap::indexed(lengths, places, byte)});
  return {.displacement = begin,
          .filetype = &types->file,
          .from = 0,
          .to = types->file.size(),
          .address = const_cast<std::byte*>(bytes_.data()),
          .memory = &types->memory,
          .types = types};
}

}  // namespace sheaf::exchange
