// Tests positions of chunks by the rules and the example of docs/format.md, placement of tasks, and overflow.
#include "layout/chunk_layout.hpp"

#include <gtest/gtest.h>

#include "layout/placement.hpp"

namespace sheaf::layout::chunk_layout_test {
namespace {

TEST(Layout, OfTheWorkedExample) {
  const std::vector<int64_t> chunks(3, aligned_chunk(100, 128));
  const FileLayout file = lay_out(chunks, 128);
  EXPECT_EQ(file.data_start, 0x480);
  EXPECT_EQ(file.starts, (std::vector<int64_t>{0x480, 0x500, 0x580}));
  EXPECT_EQ(file.skip, 0x180);
  EXPECT_EQ((ChunkGeometry{file.starts[2], file.skip, 128}.offset(2)), 0x880);
  EXPECT_EQ(file.data_start + 3 * file.skip, 0x900);
  EXPECT_EQ(0x900 + meta2_size(3, 3), 0x960);
}

TEST(Layout, ChunksOfZeroBytesTakeNoPlace) {
  const FileLayout file = lay_out(std::vector<int64_t>{0, 64, 0, 0, 64, 0}, 64);
  EXPECT_EQ(file.starts[0], file.starts[1]);
  EXPECT_EQ(file.starts[2], file.starts[4]);
  EXPECT_EQ(file.starts[5], file.data_start + file.skip);
  EXPECT_EQ(file.skip, 128);
  EXPECT_EQ(lay_out({}, 64).skip, 0);
}

TEST(Layout, RequestsAreRoundedToBlocks) {
  EXPECT_EQ(aligned_chunk(0, 512), 0);
  EXPECT_EQ(aligned_chunk(1, 512), 512);
  EXPECT_EQ(aligned_chunk(512, 512), 512);
  EXPECT_EQ(aligned_chunk(513, 512), 1024);
  EXPECT_EQ(data_start(1, 1), 1104);
  EXPECT_EQ(data_start(1, 32 << 20), 32 << 20);
  EXPECT_EQ(data_start(294912, 4096), (1088 + 16 * 294912 + 4095) / 4096 * 4096);
}

template <class Call>
Code code_of(Call call) {
  try {
    call();
    return Code::ok;
  } catch (const Error& error) {
    return error.code();
  }
}

TEST(Layout, OffsetsBeyond63BitsAreRefused) {
  constexpr int64_t half = int64_t{1} << 62;
  EXPECT_EQ(code_of([] { lay_out(std::vector<int64_t>{half, half}, 4096); }), Code::invalid_argument);
  EXPECT_EQ(code_of([] { lay_out(std::vector<int64_t>{half, half - 8192}, 4096); }), Code::ok);
  EXPECT_EQ(code_of([] { aligned_chunk(INT64_MAX - 5, 4096); }), Code::invalid_argument);
  EXPECT_EQ(code_of([] { meta2_size(INT32_MAX, INT64_MAX / 1000); }), Code::invalid_argument);

  const ChunkGeometry g{4096, half, half - 8192};
  EXPECT_EQ(g.offset(0), 4096);
  EXPECT_EQ(code_of([&] { EXPECT_EQ(g.offset(1), half + 4096); }), Code::ok);
  EXPECT_EQ(code_of([&] { g.offset(2); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { g.offset(INT64_MAX); }), Code::invalid_argument);
}

TEST(Placement, FilesTakeConsecutiveTasksAndTheLastTheRest) {
  for (int32_t tasks = 1; tasks <= 12; ++tasks)
    for (int32_t files = 1; files <= tasks; ++files) {
      Placement expected;
      for (int32_t rank = 0; rank < tasks; ++rank) {
        const Placement at = place_blockwise(rank, tasks, files);
        if (rank > 0 && at.file != expected.file) {
          EXPECT_EQ(at.file, expected.file + 1);
          EXPECT_EQ(expected.local_rank, tasks / files);
          expected = {at.file, 0};
        }
        EXPECT_EQ(at.local_rank, expected.local_rank++);
      }
      EXPECT_EQ(expected.file, files - 1);
    }
}

}  // namespace
}  // namespace sheaf::layout::chunk_layout_test
