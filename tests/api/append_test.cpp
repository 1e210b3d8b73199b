// Tests appends to a multifile through sion_open.
#include "api/keyval_fixture.hpp"

namespace sheaf::test::append_test {
namespace {

using Append = Keyval;

TEST_F(Append, WritesOnAtTheEndsOfAllStreams) {
  const std::string file = path("a");
  const int first = create(file, {100, 200}, 64);
  EXPECT_EQ(sion_fwrite("old", 1, 3, first), 3u);
  EXPECT_EQ(sion_close(first), 1);

  int ntasks = 0;
  int nfiles = 0;
  int block = 0;
  long long* sizes = nullptr;
  int* ranks = nullptr;
  FILE* stream = nullptr;
  const int sid =
      sion_open(const_cast<char*>(file.c_str()), "append", &ntasks, &nfiles, &sizes, &block, &ranks, &stream);
  ASSERT_GE(sid, 0);
  EXPECT_EQ(ntasks, 2);
  EXPECT_EQ(nfiles, 1);
  EXPECT_EQ(block, 64);
  EXPECT_EQ(sizes[0], 128);
  EXPECT_EQ(ranks[1], 101);
  std::free(sizes);
  std::free(ranks);
  EXPECT_EQ(sion_is_serial_opened(sid), 1);
  EXPECT_EQ(sion_get_bytes_written(sid), 3);
  EXPECT_EQ(fwrite("+new", 1, 4, stream), 4u);
  EXPECT_EQ(select(sid, 1), 1);
  EXPECT_EQ(sion_fwrite("second", 1, 6, sid), 6u);
  EXPECT_EQ(select(sid, 2), 0);
  EXPECT_EQ(sion_fread(&block, 1, 1, sid), 0u);
  EXPECT_EQ(sion_close(sid), 1);

  const int back = open(file);
  char bytes[10] = "";
  EXPECT_EQ(sion_fread(bytes, 1, 10, back), 7u);
  EXPECT_STREQ(bytes, "old+new");
  EXPECT_EQ(select(back, 1), 1);
  EXPECT_EQ(sion_fread(bytes, 1, 10, back), 6u);
  EXPECT_EQ(sion_close(back), 1);
}

TEST_F(Append, ToAFileWithoutTasksChangesNothing) {
  for (const char* const mode : {"wb", "wb,checksums=off"}) {
    const std::string file = path("none");
    ASSERT_EQ(sion_close(create(file, {}, 64, nullptr, mode)), 1) << sheaf_last_error();
    const auto size = std::filesystem::file_size(file);
    const int sid = open(file, nullptr, "append");
    ASSERT_GE(sid, 0) << sheaf_last_error();
    EXPECT_EQ(sion_close(sid), 1) << sheaf_last_error();
    EXPECT_EQ(std::filesystem::file_size(file), size);
    const int back = open(file);
    EXPECT_GE(back, 0) << sheaf_last_error();
    EXPECT_EQ(sion_close(back), 1);
  }
}

TEST_F(Append, OfKeyValueRecords) {
  const std::string file = records();
  const int sid = open(file, nullptr, "a,keyval");
  ASSERT_GE(sid, 0);
  EXPECT_EQ(put(sid, 7, "more"), 4u);
  EXPECT_EQ(select(sid, 1), 1);
  EXPECT_EQ(put(sid, 5, "first"), 5u);
  EXPECT_EQ(sion_close(sid), 1);
  const int back = open(file);
  EXPECT_EQ(get(back, 7), "abc");
  EXPECT_EQ(get(back, 7), "defgh");
  EXPECT_EQ(get(back, 7), "more");
  EXPECT_EQ(select(back, 1), 1);
  EXPECT_EQ(get(back, 5), "first");
  EXPECT_EQ(sion_close(back), 1);
  EXPECT_EQ(open(file, nullptr, "append,keyval=none"), -1);
}

TEST_F(Append, NeedsACompleteMultifile) {
  EXPECT_EQ(open(path("none"), nullptr, "append"), -1);
  EXPECT_FALSE(std::filesystem::exists(path("none")));
  const int sid = create(path("b"), {100});
  EXPECT_EQ(open(path("b"), nullptr, "append"), -1);
  EXPECT_EQ(sion_close(sid), 1);
  int rank = 0;
  EXPECT_EQ(sion_open_rank(const_cast<char*>(path("b").c_str()), "append", nullptr, nullptr, &rank, nullptr),
            -1);
}

}  // namespace
}  // namespace sheaf::test::append_test
