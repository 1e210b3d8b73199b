#include "layout/boundary_map.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/checked.hpp"

namespace sheaf::layout {

BoundaryMap::BoundaryMap(int64_t unit, int64_t data_start, int64_t skip, std::vector<BoundaryExtent> ranges)
    : unit_(unit), data_start_(data_start), skip_(skip) {
  SHEAF_ASSERT(unit > 0 && skip > 0 && data_start >= 0);
  std::ranges::sort(ranges, {}, &BoundaryExtent::begin);
  for (const BoundaryExtent& range : ranges)
    if (range.begin < range.end && (ranges_.empty() || ranges_.back().begin != range.begin))
      ranges_.push_back(range);
}

BoundaryMap::EdgeMapEntry BoundaryMap::part_at(int64_t offset) const {
  if (ranges_.empty()) return {false, INT64_MAX, 0};
  if (offset < data_start_) return {false, data_start_, 0};
  const int64_t number = (offset - data_start_) / skip_;
  const int64_t round = number * skip_;
  const auto behind = std::ranges::upper_bound(ranges_, offset - round, {}, &BoundaryExtent::begin);
  const auto next =
      checked_add(round, behind == ranges_.end() ? ranges_.front().begin + skip_ : behind->begin);
  const int64_t next_begin = next ? *next : INT64_MAX;
  if (behind == ranges_.begin() || offset - round >= std::prev(behind)->end) return {false, next_begin, 0};
  const BoundaryExtent& run = *std::prev(behind);
  if (number < run.from) return {false, run.end + round, 0};
  const auto begin = align_up(run.begin + round, unit_);
  const int64_t end = (run.end + round) / unit_ * unit_;
  if (!begin || *begin >= end || offset >= end) return {true, run.end + round, run.place};
  if (offset < *begin) return {true, *begin, run.place};
  return {false, end, run.place};
}

}  // namespace sheaf::layout
