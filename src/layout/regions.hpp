// layout/regions: assigns the units of a physical file to hosts, if tasks of several hosts write it
// (docs/internals-multifile.md, "Several hosts"). A unit is a block of the file system's shared granularity.
// Pure integer arithmetic with overflow checks. Offsets and sizes are in bytes.
//
// A run is a sequence of consecutive tasks with data written by one host. If it costs little space, the last
// chunk of every run is enlarged, so that runs begin and end at unit boundaries in every round. Otherwise a
// run owns the units it covers completely. Its other bytes, in boundary blocks (layout/boundary_map), are
// stored separately until the close, when one task writes each boundary block.
#pragma once

#include <cstdint>

#include "layout/collective.hpp"

namespace sheaf::layout {

// The chunk size of a task as recorded in the file, and the number of its bytes that are used.
struct RegionChunk {
  int64_t size = 0;
  int64_t usable = 0;
};

// Returns the chunk of task `task`, which has `chunk` bytes before it is enlarged. Only the last task of
// `run` gets a larger chunk. The last run also gets the bytes that make a round a multiple of `unit`. These
// bytes stay unused, because they are in the first unit of the next round. `data_start` is the offset of the
// first round.
RegionChunk enlarged_chunk(int64_t task, int64_t chunk, const GroupPlace& run, int64_t data_start,
                           int64_t unit);

// Returns true if runs may grow by `growth` bytes in total: at most a quarter of `total` plus one unit per
// host.
bool may_grow(int64_t growth, int64_t total, int64_t hosts, int64_t unit);

// In a page that two hosts write, bytes are lost; sharing a unit that is larger than a page is only slow.
// Units of up to largest_unit bytes are always kept separate. Larger units are kept separate if every run has
// at least the size of a unit; otherwise `largest_page` is used as the unit.
inline constexpr int64_t largest_unit = 1 << 20;
inline constexpr int64_t largest_page = 64 << 10;

}  // namespace sheaf::layout
