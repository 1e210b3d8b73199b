// Tests queries on an open multifile, and byte order.
#include "api/api_fixture.hpp"
#include "support/programs.hpp"

namespace sheaf::test::info_test {
namespace {

TEST_F(Api, LocationsWhileReading) {
  const int sid = open(example());
  int ntasks = 0;
  int maxblocks = 0;
  sion_int64 skip = 0;
  sion_int64 table = 0;
  sion_int64 *chunks = nullptr, *ranks = nullptr, *counts = nullptr, *sizes = nullptr;
  EXPECT_EQ(sion_get_locations(sid, &ntasks, &maxblocks, &skip, &table, &chunks, &ranks, &counts, &sizes), 1);
  EXPECT_EQ(ntasks, 3);
  EXPECT_EQ(maxblocks, 4);
  EXPECT_EQ(skip, 3 * 512);
  EXPECT_EQ(table, 1536 + 4 * 3 * 512);
  EXPECT_EQ(std::vector<sion_int64>(chunks, chunks + 3), (std::vector<sion_int64>{512, 512, 512}));
  EXPECT_EQ(std::vector<sion_int64>(ranks, ranks + 3), (std::vector<sion_int64>{100, 101, 102}));
  EXPECT_EQ(std::vector<sion_int64>(counts, counts + 3), (std::vector<sion_int64>{4, 1, 1}));
  EXPECT_EQ(sizes[0], 100);
  EXPECT_EQ(sizes[3], 512);
  EXPECT_EQ(sizes[6], 21);
  EXPECT_EQ(sizes[9], 0);
  EXPECT_EQ(sizes[2], 7);
  EXPECT_EQ(sion_get_locations(sid, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr),
            1);

  char bytes[120];
  EXPECT_EQ(sion_fread(bytes, 1, 120, sid), 120u);
  int block = 0;
  sion_int64 position = 0;
  EXPECT_EQ(sion_get_current_location(sid, &block, &position, nullptr, nullptr), 1);
  EXPECT_EQ(block, 1);
  EXPECT_EQ(position, 20);
  EXPECT_EQ(sion_get_position(sid), 1536 + 1536 + 20);
  EXPECT_EQ(sion_seek(sid, 2, 0, 3), 1);
  sion_int64 *positions = nullptr, *blocks = nullptr;
  EXPECT_EQ(sion_get_current_locations(sid, &ntasks, &positions, &blocks), 1);
  EXPECT_EQ(std::vector<sion_int64>(positions, positions + 3),
            (std::vector<sion_int64>{1536 + 1536 + 20, 1536 + 512, 1536 + 1024 + 3}));
  EXPECT_EQ(std::vector<sion_int64>(blocks, blocks + 3), (std::vector<sion_int64>{1, 0, 0}));
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Api, LocationsWhileWriting) {
  const int sid = create(path("a"), {100, 200}, 64);
  EXPECT_EQ(sion_fwrite(content(0, 0, 150).data(), 1, 150, sid), 150u);  // blocks of 128 and 22 bytes
  int ntasks = 0;
  int maxblocks = 0;
  sion_int64 skip = 0;
  sion_int64 table = 0;
  sion_int64 *chunks = nullptr, *ranks = nullptr, *counts = nullptr, *sizes = nullptr;
  EXPECT_EQ(sion_get_locations(sid, &ntasks, &maxblocks, &skip, &table, &chunks, &ranks, &counts, &sizes), 1);
  EXPECT_EQ(ntasks, 2);
  EXPECT_EQ(maxblocks, -1);
  EXPECT_EQ(table, -1);
  EXPECT_EQ(skip, 128 + 256);
  EXPECT_EQ(chunks[1], 256);
  EXPECT_EQ(ranks[1], 101);
  EXPECT_EQ(counts[0], 2);
  EXPECT_EQ(sizes[0], 128);
  EXPECT_EQ(sizes[2], 22);
  sion_int64 *positions = nullptr, *blocks = nullptr;
  EXPECT_EQ(sion_get_current_locations(sid, &ntasks, &positions, &blocks), 1);
  EXPECT_EQ(positions[0], 1152 + 384 + 22);
  EXPECT_EQ(positions[1], 1152 + 128);
  EXPECT_EQ(blocks[0], 1);
  EXPECT_EQ(sion_close(sid), 1);
}

// Only parallel tasks can write a set of files. In this test the tasks are fibers.
TEST_F(Api, ASetOfFiles) {
  Program p;
  p.nfiles = 2;
  p.fsblksize = 64;
  p.requests = {100, 100, 100, 100, 100};
  for (int t = 0; t < 5; ++t) p.steps.push_back({{Step::write, 100 + t}, {Step::write, 50}});
  const std::string file = path("set");
  write_in_parallel(posix_store(), file, p);

  FILE* fp = nullptr;
  const int sid = open(file, &fp);
  ASSERT_GE(sid, 0);
  int size = 0;
  int nfiles = 0;
  sion_int32* mapping = nullptr;
  EXPECT_EQ(sion_get_mapping(sid, &size, &mapping, &nfiles), 1);
  EXPECT_EQ(size, 5);
  EXPECT_EQ(nfiles, 2);
  EXPECT_EQ(std::vector<int>(mapping, mapping + 10), (std::vector<int>{0, 0, 0, 1, 1, 0, 1, 1, 1, 2}));
  EXPECT_EQ(sion_get_number_of_files(sid), 2);
  EXPECT_EQ(sion_get_filenumber(sid), 0);
  int bytes = 0;
  int files = 0;
  EXPECT_EQ(sion_get_sizeof(sid, &bytes, &files), 1);
  EXPECT_EQ(files, 2);
  EXPECT_GT(bytes, 0);
  FILE* const first = fp;
  for (int t = 4; t >= 0; --t) {
    EXPECT_EQ(sion_seek_fp(sid, t, 0, 0, &fp), 1);
    EXPECT_EQ(fp == first, t < 2) << "every physical file has a stream of its own";
    std::vector<std::byte> found(static_cast<size_t>(150 + t));
    EXPECT_EQ(std::fread(found.data(), 1, 60, fp), 60u);
    EXPECT_EQ(sion_fread(found.data() + 60, 1, found.size() - 60, sid), found.size() - 60);
    EXPECT_EQ(found, content(t, 0, 150 + t));
  }
  EXPECT_EQ(sion_close(sid), 1);

  for (int t = 0; t < 5; ++t) {
    const int one = open_rank(file, t);
    std::vector<std::byte> found(static_cast<size_t>(150 + t));
    EXPECT_EQ(sion_fread(found.data(), 1, found.size(), one), found.size());
    EXPECT_EQ(found, content(t, 0, 150 + t));
    EXPECT_EQ(sion_get_filenumber(one), t < 2 ? 0 : 1);
    EXPECT_EQ(sion_close(one), 1);
  }
  EXPECT_EQ(open_rank(file, 5), -1);
  std::filesystem::remove(file + ".000001");
  EXPECT_EQ(open(file), -1);
  EXPECT_TRUE(last_error_has(file + ".000001")) << sheaf_last_error();
}

TEST_F(Api, FactsOfASingleFile) {
  const std::string file = path("a");
  int sid = create(file, {10}, 64, nullptr, "wb,endianness=big,keyval");
  EXPECT_EQ(sion_get_filenumber(sid), 1);
  EXPECT_EQ(sion_get_number_of_files(sid), 1);
  EXPECT_EQ(sion_is_serial_opened(sid), 1);
  EXPECT_EQ(sion_using_hints(sid), 0);
  EXPECT_EQ(sion_get_keyval_mode(sid), SION_KEYVAL_INLINE);
  EXPECT_EQ(sion_close(sid), 1);
  sid = open(file);
  EXPECT_EQ(sion_get_file_endianness(sid), 1);
  EXPECT_EQ(sion_endianness_swap_needed(sid), sion_get_endianness() == 0);
  EXPECT_EQ(sion_get_keyval_mode(sid), SION_KEYVAL_INLINE);
  int size = 0;
  sion_int32* mapping = nullptr;
  int nfiles = 0;
  EXPECT_EQ(sion_get_mapping(sid, &size, &mapping, &nfiles), 1);
  EXPECT_EQ(size, -1);
  EXPECT_EQ(mapping, nullptr);
  EXPECT_EQ(nfiles, 1);
  EXPECT_EQ(sion_close(sid), 1);
  sid = create(file, {10}, 64, nullptr, "wb,endianness=little");
  EXPECT_EQ(sion_get_file_endianness(sid), 0);
  EXPECT_EQ(sion_get_keyval_mode(sid), SION_KEYVAL_NONE);
  EXPECT_EQ(sion_close(sid), 1);
}

TEST_F(Api, Versions) {
  int main_version = 0, sub = 0, patch = 0, format = 0;
  EXPECT_EQ(sion_get_version(&main_version, &sub, &patch, &format), 1);
  EXPECT_EQ(main_version, 1);
  EXPECT_EQ(sub, 7);
  EXPECT_EQ(patch, 6);
  EXPECT_EQ(format, 5);
  EXPECT_EQ(sion_get_version(nullptr, nullptr, nullptr, nullptr), 1);
  EXPECT_EQ(sion_is_thread_safe(), 1);
  EXPECT_STREQ(sion_keyval_type_to_str(SION_KEYVAL_INLINE), "SION_KEYVAL_INLINE");
}

TEST_F(Api, ExistenceOfFiles) {
  EXPECT_EQ(_sion_file_stat_file(example().c_str()), 1);
  EXPECT_EQ(_sion_file_stat_file(path("missing").c_str()), 0);
  EXPECT_EQ(_sion_file_stat_file((example() + "/below").c_str()), 0);
  EXPECT_EQ(_sion_file_stat_file(nullptr), 0);
}

TEST_F(Api, Swap) {
  unsigned char from[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  unsigned char to[8] = {};
  const auto expect = [&](std::initializer_list<int> bytes) {
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), to));
  };
  sion_swap(to, from, 4, 2, 0);
  expect({1, 2, 3, 4, 5, 6, 7, 8});
  sion_swap(to, from, 4, 2, 1);
  expect({4, 3, 2, 1, 8, 7, 6, 5});
  sion_swap(to, to, 8, 1, 1);
  expect({5, 6, 7, 8, 1, 2, 3, 4});
  sion_swap(to, to, 2, 4, 0);
  expect({5, 6, 7, 8, 1, 2, 3, 4});
  sion_swap(to, from, 3, 2, 1);
  expect({3, 2, 1, 6, 5, 4, 3, 4});
  sion_swap(to, from, 1, 8, 1);
  expect({1, 2, 3, 4, 5, 6, 7, 8});
  sion_swap(to, from, 4, 0, 1);
  sion_swap(nullptr, from, 4, 2, 1);
  expect({1, 2, 3, 4, 5, 6, 7, 8});
}

}  // namespace
}  // namespace sheaf::test::info_test
