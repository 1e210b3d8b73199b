// exchange/transfer/held_extents: extents of a file with their new bytes, merged in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "exchange/pieces/access.hpp"

namespace sheaf::exchange {

// Extents do not overlap: bytes that are added later replace earlier ones. Offsets and lengths are in bytes.
// Not thread-safe. If a call throws, because there is no memory, bytes outside its access are unchanged.
class HeldExtents {
 public:
  bool is_empty() const { return extents_.empty(); }
  int64_t count() const { return static_cast<int64_t>(extents_.size()); }
  int64_t end() const { return is_empty() ? 0 : extents_.rbegin()->second.end; }  // end of the last extent
  // Returns the bytes of memory that are in use, including replaced bytes.
  int64_t memory() const { return static_cast<int64_t>(bytes_.size()) + count() * extent_memory; }
  // Returns an upper estimate of the memory that add() of the access allocates.
  static int64_t memory_for(const FileAccess& access) {
    return access.bytes() + access.pieces() * extent_memory;
  }

  // Adds the bytes of an access. Its file offsets must increase. Copies them from the memory of the access.
  void add(const FileAccess& access);
  // Adds those bytes of the access that lie in extents of `other`.
  void add_overlap(const FileAccess& access, const HeldExtents& other);
  void remove(const FileAccess& access);

  // Copies bytes that lie in extents to the memory of the access. Returns the number of bytes copied.
  int64_t copy_to(const FileAccess& access) const;
  // Returns an access that writes all extents. The extents must outlive the access and stay unchanged.
  // Requires that there are extents.
  FileAccess access() const;

  // Calls use(offset, length) for every extent, in the order of offsets.
  template <class Use>
  void for_each(Use use) const {
    for (const auto& [begin, extent] : extents_) use(begin, extent.end - begin);
  }

 private:
  static constexpr int64_t extent_memory = 96;  // bytes of a node of the map, with the allocator's overhead

  struct HeldExtent {
    int64_t end;    // in the file
    int64_t place;  // place of the first byte in `bytes_`
  };

  int64_t append(const FileAccess& access, int64_t from, int64_t to);
  void insert(int64_t begin, int64_t end, int64_t place);
  void erase(int64_t begin, int64_t end);
  template <class Use>
  void for_each_overlap(const FileAccess& access, Use use) const;

  std::map<int64_t, HeldExtent> extents_;  // by the first offset
  std::vector<std::byte> bytes_;           // in the order of the calls
};

}  // namespace sheaf::exchange
