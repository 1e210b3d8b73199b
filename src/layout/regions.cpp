#include "layout/regions.hpp"

#include "base/assert.hpp"
#include "base/checked.hpp"

namespace sheaf::layout {

RegionChunk enlarged_chunk(int64_t task, int64_t chunk, const GroupPlace& run, int64_t data_start,
                           int64_t unit) {
  SHEAF_ASSERT(unit > 0 && chunk >= 0 && data_start >= 0);
  SHEAF_ASSERT(task >= run.first && task < run.first + run.size && run.number < run.count);
  if (task != run.first + run.size - 1) return {chunk, chunk};
  const int64_t in_unit = data_start % unit;
  const int64_t behind = ((run.number == 0 ? in_unit : 0) + run.sum % unit) % unit;
  const auto usable = checked_add(chunk, behind == 0 ? 0 : unit - behind);
  const auto size = usable ? checked_add(*usable, run.number == run.count - 1 ? in_unit : 0) : usable;
  return {must_fit(size, "the chunk size"), *usable};
}

bool may_grow(int64_t growth, int64_t total, int64_t hosts, int64_t unit) {
  const auto slack = checked_mul(hosts, unit);
  return growth <= total / 4 || !slack || growth - total / 4 <= *slack;
}

}  // namespace sheaf::layout
