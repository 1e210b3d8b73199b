// The assertions of layouts.
#include <gtest/gtest.h>

#include <array>

#include "layout/aggregators.hpp"
#include "layout/boundary_map.hpp"
#include "layout/chunk_layout.hpp"
#include "layout/collective.hpp"
#include "layout/each_piece.hpp"
#include "layout/overruns.hpp"
#include "layout/piece_map.hpp"
#include "layout/placement.hpp"
#include "layout/regions.hpp"
#include "layout/slices.hpp"
#include "layout/stripes.hpp"
#include "support/assertions.hpp"

namespace sheaf::layout::assertions_test {
namespace {

TEST(Assertions, OfPlacesOfTasks) {
  EXPECT_ASSERTION(place_blockwise(0, 2, 3), "nfiles <= ntasks");
  EXPECT_ASSERTION(place_blockwise(2, 2, 1), "rank < ntasks");
  EXPECT_ASSERTION(enlarged_chunk(0, 100, {}, 0, 0), "unit > 0");
  EXPECT_ASSERTION(enlarged_chunk(1, 100, {}, 0, 1), "task < run.first");
  EXPECT_ASSERTION(spread_aggregators({}, 0), "hosts.empty");
}

TEST(Assertions, OfGroups) {
  GroupPass pass;
  pass.add(3, 1, 10, GroupPass::Begins::every_task);
  EXPECT_ASSERTION(pass.add(3, 1, 10, GroupPass::Begins::every_task), "task > first");
  EXPECT_ASSERTION(pass.add(4, -1, 10), "request >= 0");
  EXPECT_ASSERTION(choose_collector({}, 1, {}, 0, 1), "nodes.empty");
  EXPECT_ASSERTION(packed_chunk(5, 4, true, 1), "request <= sum");
  EXPECT_ASSERTION(bytes_per_collector(1, 1, 0, 0), "fsblksize > 0");
}

TEST(Assertions, OfChunks) {
  EXPECT_DEBUG_ASSERTION(ChunkGeometry{}.offset(-1), "chunk >= 0");
  const std::array<int64_t, 1> sizes{-1};
  EXPECT_DEBUG_ASSERTION(lay_out(sizes, 512), "size >= 0");
  OverrunScan scan;
  EXPECT_DEBUG_ASSERTION(scan.add(0, 0, 0, 10), "bytes > 0");
  EXPECT_ASSERTION(BoundaryMap(0, 0, 1, {}), "unit > 0");
  EXPECT_ASSERTION(for_each_slice(0, 1, 0, [](int64_t, std::span<int64_t>) {}), "at_once > 0");
}

TEST(Assertions, OfStripes) {
  const Stripes stripes{100, 3};
  EXPECT_ASSERTION(stripes.share(3, 0, 1), "subfile < count");
  EXPECT_ASSERTION(stripes.subrange(0, -1, 1), "offset >= 0");
}

TEST(Assertions, OfTypeMaps) {
  const TypeMap type = TypeMap::bytes(4);
  EXPECT_DEBUG_ASSERTION(for_each_piece(type, 0, 2, 1, [](int64_t, int64_t) {}), "from <= to");
  EXPECT_DEBUG_ASSERTION(type.offset_of(-1), "position >= 0");
  EXPECT_DEBUG_ASSERTION(TypeMap().bytes_below(0), "size_ > 0");
}

TEST(Assertions, OfPieceMaps) {
  PieceMap map;
  map.put(0, {.length = 10});
  map.put(20, {.length = 10});
  map.grow(0, 20);
  EXPECT_DEBUG_ASSERTION(map.grow(0, 21), "first - offset >= length");
  EXPECT_DEBUG_ASSERTION(map.grow(5, 1), "contains");
}

}  // namespace
}  // namespace sheaf::layout::assertions_test
