// Tests reading, writing and seeking with the library's own calls.
#include "api/api_fixture.hpp"

namespace sheaf::test::transfer_test {
namespace {

TEST_F(Api, SeekTableOfTheInterface) {
  const std::string file = example();
  for (const char* mode : {"rb", "rb,posix", "rb,buffer=0"}) {
    const int sid = open(file, nullptr, mode);
    const auto expect = [&](int block, sion_int64 pos, int found, int at_block, sion_int64 at_pos) {
      SCOPED_TRACE(std::to_string(block) + ", " + std::to_string(pos));
      EXPECT_EQ(sion_seek(sid, SION_CURRENT_RANK, block, pos), found);
      int current = -1;
      sion_int64 offset = -1;
      EXPECT_EQ(sion_get_current_location(sid, &current, &offset, nullptr, nullptr), 1);
      EXPECT_EQ(current, at_block);
      EXPECT_EQ(offset, at_pos);
    };
    expect(SION_ABSOLUTE_POS, 100, 1, 0, 100);
    expect(SION_ABSOLUTE_POS, 101, 1, 1, 1);
    expect(SION_ABSOLUTE_POS, 633, 1, 2, 21);
    expect(SION_ABSOLUTE_POS, 634, 0, 2, 21);
    expect(SION_ABSOLUTE_POS, -1, 0, 2, 21);
    expect(SION_END_POS, 0, 1, 3, 0);
    expect(SION_END_POS, -1, 1, 2, 20);
    expect(SION_END_POS, -633, 1, 0, 0);
    expect(SION_END_POS, -634, 0, 0, 0);
    expect(SION_END_POS, 1, 0, 0, 0);
    expect(1, 512, 1, 1, 512);
    expect(1, 513, 0, 1, 512);
    expect(1, -1, 0, 1, 512);
    expect(4, 0, 0, 1, 512);
    expect(-1, 0, 0, 1, 512);
    expect(SION_CURRENT_BLK, 7, 1, 1, 7);
    expect(SION_CURRENT_BLK, SION_CURRENT_POS, 1, 1, 7);
    expect(1, 512, 1, 1, 512);
    expect(SION_CURRENT_BLK, SION_CURRENT_POS, 1, 2, 0);  // the end of a block is the start of the next
    EXPECT_EQ(sion_seek(sid, 3, 0, 0), 0);
    EXPECT_EQ(sion_seek(sid, -1, 0, 0), 0);
    EXPECT_EQ(sion_close(sid), 1);
  }
}

TEST_F(Api, FailedSeeksOfSerialProgramsAreReportedForEveryRank) {
  const std::string file = example();
  const int sid = open(file);
  ::setenv("SION_ERROR_MSG_RANK", "7", 1);
  sheaf_print_errors(1);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(sion_seek(sid, SION_CURRENT_RANK, SION_END_POS, 1), 0);
  EXPECT_EQ(sion_seek(sid, SION_CURRENT_RANK, SION_END_POS, -634), 0);
  const std::string said = ::testing::internal::GetCapturedStderr();
  sheaf_print_errors(0);
  ::unsetenv("SION_ERROR_MSG_RANK");
  const std::string head = "SION_ERROR_RETURN on rank -1, rc=0: sion_seek: ";
  const std::string last = head + "error in searching end pos, returning  ... task 0 has no position";
  EXPECT_EQ(said.rfind(head + "seek past end of file (1 > 0), aborting  ...\n" + last, 0), 0u) << said;
  EXPECT_NE(
      said.find(head + "seek before beginning of file (posend = -634, abspos = -1), aborting  ...\n" + last),
      std::string::npos)
      << said;
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Api, TooLittleFreeSpaceIsReportedInTheWordsOfTheOriginal) {
  const std::string file = path("small.sion");
  const int sid = create(file, {512, 512, 512});
  EXPECT_EQ(sion_seek(sid, 2, SION_CURRENT_BLK, SION_CURRENT_POS), 1);
  sheaf_print_errors(1);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(sion_ensure_free_space(sid, 1 << 30), 0);
  const std::string said = ::testing::internal::GetCapturedStderr();
  sheaf_print_errors(0);
  EXPECT_NE(said.find(": sion_ensure_free_space[ 2]: could not write 1073741824 bytes, chunksize="),
            std::string::npos)
      << said;
  EXPECT_NE(said.find(", returning ... ('" + file + "')"), std::string::npos) << said;
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Api, SeekToAnotherTaskContinuesWhereItWasLeft) {
  const int sid = open(example());
  char bytes[20];
  EXPECT_EQ(sion_fread(bytes, 1, 10, sid), 10u);
  EXPECT_EQ(sion_seek(sid, 2, SION_CURRENT_BLK, SION_CURRENT_POS), 1);
  EXPECT_EQ(sion_fread(bytes, 1, 7, sid), 7u);
  EXPECT_EQ(sion_seek(sid, 0, SION_CURRENT_BLK, SION_CURRENT_POS), 1);
  EXPECT_EQ(sion_get_bytes_read(sid), 10);
  EXPECT_EQ(sion_seek(sid, 2, SION_CURRENT_BLK, SION_CURRENT_POS), 0) << "it was at its end";
  EXPECT_EQ(sion_get_bytes_read(sid), 10) << "and nothing has changed";
  EXPECT_EQ(sion_seek(sid, 2, SION_ABSOLUTE_POS, 3), 1);
  EXPECT_EQ(sion_bytes_avail_in_block(sid), 4);
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Api, ReadLoopOverBlocks) {
  const std::string file = example();
  for (const char* mode : {"rb", "rb,posix"}) {
    const int sid = open(file, nullptr, mode);
    std::vector<sion_int64> seen;
    std::vector<std::byte> all;
    while (!sion_feof(sid)) {
      const sion_int64 n = sion_bytes_avail_in_block(sid);
      EXPECT_EQ(n, sion_bytes_avail_in_chunk(sid));
      seen.push_back(n);
      std::vector<std::byte> block(static_cast<size_t>(n) + 1);
      EXPECT_EQ(sion_fread(block.data(), 1, static_cast<size_t>(n), sid), static_cast<size_t>(n));
      all.insert(all.end(), block.begin(), block.end() - 1);
    }
    EXPECT_EQ(seen, (std::vector<sion_int64>{100, 512, 21, 0}));  // the reader also visits the empty block
    EXPECT_EQ(all, content(0, 0, 633));
    EXPECT_EQ(sion_bytes_avail_in_block(sid), 0);
    EXPECT_EQ(sion_close(sid), 1);
  }
}

TEST_F(Api, ReadPastTheEndGivesCompleteItems) {
  const int sid = open(example());
  std::vector<std::byte> all(1000);
  EXPECT_EQ(sion_fread(all.data(), 10, 100, sid), 63u);  // the task has 633 bytes
  EXPECT_EQ(sion_get_bytes_read(sid), 630);
  EXPECT_EQ(sion_fread(all.data(), 10, 1, sid), 0u);
  EXPECT_EQ(sion_fread(all.data(), 1, 10, sid), 3u);
  EXPECT_EQ(sion_fread(all.data(), 1, 10, sid), 0u);
  EXPECT_EQ(sion_seek(sid, 0, SION_ABSOLUTE_POS, 0), 1);
  EXPECT_EQ(sion_fread(all.data(), SIZE_MAX / 2, 3, sid), 0u);
  EXPECT_EQ(sion_fread(all.data(), 1, SIZE_MAX, sid), 0u);
  EXPECT_EQ(sion_get_bytes_read(sid), 0);
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Api, NothingToMove) {
  int sid = create(path("a"), {1000});
  EXPECT_EQ(sion_fwrite("x", 1, 1, sid),
            1u);  // allocates the buffer, so the fast path could take the next calls
  EXPECT_EQ(sion_fwrite("x", 0, 5, sid), 0u);
  EXPECT_EQ(sion_fwrite("x", 5, 0, sid), 0u);
  EXPECT_EQ(sion_fwrite(nullptr, 0, 0, sid), 0u);
  EXPECT_EQ(sion_fwrite(nullptr, 1, 5, sid), 0u);
  EXPECT_EQ(sion_fwrite(nullptr, 8, 1, sid), 0u);
  EXPECT_TRUE(last_error_has("NULL"));
  EXPECT_EQ(sion_fwrite("x", SIZE_MAX, SIZE_MAX, sid), 0u);
  EXPECT_EQ(sion_fwrite("x", SIZE_MAX / 2 + 1, 1, sid), 0u);
  EXPECT_EQ(sion_fwrite("x", SIZE_MAX, 1, sid), 0u);
  EXPECT_EQ(sion_fwrite("y", 1, 1, sid), 1u);
  EXPECT_EQ(sion_get_bytes_written(sid), 2);
  EXPECT_EQ(sion_close(sid), 1);
  sid = open(path("a"));
  char byte = 0;
  EXPECT_EQ(sion_fread(&byte, 1, 1, sid), 1u);
  EXPECT_EQ(sion_fread(nullptr, 1, 1, sid), 0u);
  EXPECT_EQ(sion_fread(&byte, 0, 1, sid), 0u);
  EXPECT_EQ(sion_fread(&byte, 1, 0, sid), 0u);
  EXPECT_EQ(sion_fread(&byte, 1, 1, sid), 1u);
  EXPECT_EQ(byte, 'y');
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Api, WritesLargerThanAChunkAreSplit) {
  int sid = create(path("a"), {100, 0}, 64);
  const auto data = content(0, 0, 1000);
  EXPECT_EQ(sion_fwrite(data.data(), 100, 1, sid), 1u);
  EXPECT_EQ(sion_fwrite(data.data() + 100, 1, 900, sid), 900u);
  EXPECT_EQ(sion_ensure_free_space(sid, 129), 0);
  EXPECT_TRUE(last_error_has("could not write 129 bytes, chunksize=128")) << sheaf_last_error();
  EXPECT_EQ(sion_ensure_free_space(sid, -1), 0);
  EXPECT_EQ(sion_ensure_free_space(sid, LLONG_MAX), 0);
  EXPECT_EQ(sion_seek(sid, 1, SION_CURRENT_BLK, SION_CURRENT_POS), 1);
  EXPECT_EQ(sion_fwrite("x", 1, 1, sid), 0u) << "a task of chunk size 0 accepts nothing";
  EXPECT_EQ(sion_ensure_free_space(sid, 0), 1);
  EXPECT_EQ(sion_close(sid), 1);
  sid = open(path("a"));
  std::vector<std::byte> back(1000);
  EXPECT_EQ(sion_fread(back.data(), 1000, 1, sid), 1u);
  EXPECT_EQ(back, data);
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Api, SeekWhileWritingOnlySelectsTasks) {
  const int sid = create(path("a"), {100, 100});
  EXPECT_EQ(sion_fwrite("abc", 1, 3, sid), 3u);
  EXPECT_EQ(sion_seek(sid, 2, SION_CURRENT_BLK, SION_CURRENT_POS), 0);
  EXPECT_EQ(sion_seek(sid, -1, SION_CURRENT_BLK, SION_CURRENT_POS), 0);
  EXPECT_EQ(sion_seek(sid, 1, 5, 0), 0);
  EXPECT_EQ(sion_seek(sid, SION_CURRENT_RANK, SION_ABSOLUTE_POS, 0), 0);
  EXPECT_EQ(sion_seek(sid, 0, 0, 0), 0);
  EXPECT_EQ(sion_seek(sid, 0, 0, 3), 1) << "where it is";
  EXPECT_EQ(sion_get_bytes_written(sid), 3) << "still task 0";
  EXPECT_EQ(sion_seek(sid, 1, SION_CURRENT_BLK, SION_CURRENT_POS), 1);
  EXPECT_EQ(sion_get_bytes_written(sid), 0);
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Api, FlushMakesBytesVisible) {
  const std::string file = path("a");
  for (const char* mode : {"wb", "wb,posix"}) {
    const int sid = create(file, {1000}, 512, nullptr, mode);
    EXPECT_EQ(sion_fwrite("hello", 1, 5, sid), 5u);
    EXPECT_EQ(sion_flush(sid), 1);
    EXPECT_EQ(sion_get_position(sid), 1536 + 5);
    std::ifstream in(file, std::ios::binary);
    in.seekg(1536);
    char found[5] = {};
    in.read(found, 5);
    EXPECT_EQ(std::string(found, 5), "hello");
    EXPECT_EQ(sion_close(sid), 1);
  }
}

}  // namespace
}  // namespace sheaf::test::transfer_test
