// layout/edge_map: which bytes of a physical file are edges of runs (layout/regions), and whose. Pure;
// offsets in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sheaf::layout {

// A run: bytes [begin, end) of the first round of chunks, and their like in later rounds. What lies in units
// that are not wholly within is kept at `place`, from round `from` on.
struct EdgeRange {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t from = 0;
  size_t place = 0;
};

class EdgeMap {
 public:
  EdgeMap() = default;  // of a file without edges
  // `unit`, `skip` > 0. Runs may be given several times, but do not lie over each other.
  EdgeMap(int64_t unit, int64_t data_start, int64_t skip, std::vector<EdgeRange> ranges);

  struct Part {
    bool is_edge = false;
    int64_t end = 0;  // the next byte may be another matter
    size_t place = 0;
  };
  Part part_at(int64_t offset) const;

  // Calls act(offset, length, part) for the parts of [offset, offset + length) in order, as long as it
  // returns true.
  template <class Act>
  void for_each_part(int64_t offset, int64_t length, Act&& act) const {
    for (const int64_t last = offset + length; offset < last;) {
      const Part part = part_at(offset);
      const int64_t end = part.end < last ? part.end : last;
      if (!act(offset, end - offset, part)) return;
      offset = end;
    }
  }

 private:
  int64_t unit_ = 1;
  int64_t data_start_ = 0;
  int64_t skip_ = 1;
  std::vector<EdgeRange> ranges_;  // in order, apart from each other
};

}  // namespace sheaf::layout
