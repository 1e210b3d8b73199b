// layout/boundary_map: finds the bytes of a physical file that are in boundary blocks, and the run to which
// they belong (layout/regions). Pure functions. Offsets are in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sheaf::layout {

// A run: bytes [begin, end) of the first round of chunks, and the same bytes of later rounds. From round
// `from` on, the bytes in units that the run covers only in part are stored in `place`, which the caller
// defines.
struct BoundaryExtent {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t from = 0;
  size_t place = 0;
};

class BoundaryMap {
 public:
  BoundaryMap() = default;  // for a file without boundary bytes
  // `unit` and `skip` must be > 0. `ranges` may contain duplicates, but different runs must not overlap.
  BoundaryMap(int64_t unit, int64_t data_start, int64_t skip, std::vector<BoundaryExtent> ranges);

  struct EdgeMapEntry {
    bool is_boundary = false;
    int64_t end = 0;  // offset of the next part
    size_t place = 0;
  };
  // Returns the part that contains `offset`.
  EdgeMapEntry part_at(int64_t offset) const;

  // Calls act(offset, length, part) for the parts of [offset, offset + length) in order, until act() returns
  // false.
  template <class Act>
  void for_each_part(int64_t offset, int64_t length, Act&& act) const {
    for (const int64_t last = offset + length; offset < last;) {
      const EdgeMapEntry part = part_at(offset);
      const int64_t end = part.end < last ? part.end : last;
      if (!act(offset, end - offset, part)) return;
      offset = end;
    }
  }

 private:
  int64_t unit_ = 1;
  int64_t data_start_ = 0;
  int64_t skip_ = 1;
  std::vector<BoundaryExtent> ranges_;  // sorted and disjoint
};

}  // namespace sheaf::layout
