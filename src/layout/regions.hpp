// layout/regions: which host writes which units of a physical file that tasks of several hosts write
// (docs/architecture.md, "Several hosts"). Pure, overflow-checked integer arithmetic; offsets and sizes in
// bytes.
//
// Consecutive tasks whose bytes one host writes are a run. Where that takes little room, the last chunk of
// every run is enlarged, so that runs begin and end at units, in every round. Else a run has the units that
// lie wholly within it; what lies in the others, its edges (layout/edge_map), is kept apart until the close,
// when one task writes each of them.
#pragma once

#include <cstdint>

#include "layout/collective.hpp"

namespace sheaf::layout {

// The chunk of a task, as the file says it, and as many bytes of it as it uses.
struct RegionChunk {
  int64_t size = 0;
  int64_t usable = 0;
};

// The chunk of `chunk` bytes of task `task`, enlarged if it is the last of its run, which is the group `run`.
// The last one of all runs also gets the bytes that make a round a multiple of the unit, and leaves them
// unused: they are in the first unit of the next round. data_start: where the first round begins; unit: of
// the file system.
RegionChunk enlarged_chunk(int64_t task, int64_t chunk, const GroupPlace& run, int64_t data_start,
                           int64_t unit);

// Whether runs may grow by `growth` bytes in all: by a quarter, and a unit per host.
bool may_grow(int64_t growth, int64_t total, int64_t hosts, int64_t unit);

// Units of up to so many bytes are kept apart in any file: in a page that two hosts write bytes are lost.
// Larger ones, where hosts are only slow together, are kept apart where every run has at least one; else
// `largest_page` stands for them.
inline constexpr int64_t largest_unit = 1 << 20;
inline constexpr int64_t largest_page = 64 << 10;

}  // namespace sheaf::layout
