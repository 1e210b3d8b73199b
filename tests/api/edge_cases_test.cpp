// Tests serial cases in which similar libraries have failed. tests/mpi/sion_edge_cases_test.cpp tests those
// of the MPI calls.
#include "api/api_fixture.hpp"

namespace sheaf::test::edge_cases_test {
namespace {

TEST_F(Api, ChunkSizesThatAreAll0) {
  for (const int block : {0, -1, 64}) {
    int sid = create(path("a"), {0, 0, 0}, block);
    ASSERT_GE(sid, 0);
    for (int task = 0; task < 3; ++task) {
      EXPECT_EQ(sion_seek(sid, task, SION_CURRENT_BLK, SION_CURRENT_POS), 1);
      EXPECT_EQ(sion_fwrite("x", 1, 1, sid), 0u);
      EXPECT_EQ(sion_ensure_free_space(sid, 1), 0);
      EXPECT_EQ(sion_get_bytes_written(sid), 0);
    }
    EXPECT_EQ(sion_close(sid), 1);
    sid = open(path("a"));
    for (int task = 0; task < 3; ++task) {
      EXPECT_EQ(sion_seek(sid, task, 0, 0), 1);
      char byte;
      EXPECT_EQ(sion_fread(&byte, 1, 1, sid), 0u);
      EXPECT_EQ(sion_feof(sid), 1);
    }
    EXPECT_EQ(sion_close(sid), 1);
  }
}

TEST_F(Api, ThousandsOfBlocksOfATaskBehindOneWithFewer) {
  for (const int blocks : {101, 10'100}) {
    int sid = create(path("a"), {8, 8, 8}, 8);
    const std::vector<std::byte> data = content(1, 0, 8 * blocks);
    EXPECT_EQ(sion_fwrite("first", 1, 5, sid), 5u);
    EXPECT_EQ(sion_seek(sid, 1, SION_CURRENT_BLK, SION_CURRENT_POS), 1);
    for (int b = 0; b < blocks; ++b) ASSERT_EQ(sion_fwrite(&data[static_cast<size_t>(8 * b)], 8, 1, sid), 1u);
    EXPECT_EQ(sion_close(sid), 1);
    for (const bool alone : {false, true}) {
      sid = alone ? open_rank(path("a"), 1) : open(path("a"));
      EXPECT_EQ(sion_seek(sid, 1, blocks - 1, 7), 1);
      int found = 0;
      EXPECT_EQ(sion_get_current_location(sid, nullptr, nullptr, &found, nullptr), 1);
      EXPECT_EQ(found, blocks);
      EXPECT_EQ(sion_seek(sid, 1, SION_ABSOLUTE_POS, 0), 1);
      std::vector<std::byte> back(data.size() + 1);
      EXPECT_EQ(sion_fread(back.data(), 1, back.size(), sid), data.size());
      back.resize(data.size());
      EXPECT_EQ(back, data);
      EXPECT_EQ(sion_close(sid), 1);
    }
    // A task with fewer blocks than another task must report only its own blocks.
    for (const int task : {0, 2}) {
      sid = open_rank(path("a"), task);
      int found = 0;
      EXPECT_EQ(sion_get_current_location(sid, nullptr, nullptr, &found, nullptr), 1);
      EXPECT_EQ(found, 1);
      EXPECT_EQ(sion_close(sid), 1);
    }
    EXPECT_EQ(open_rank(path("a"), 3), -1);
    EXPECT_EQ(open_rank(path("a"), -1), -1);
  }
}

TEST_F(Api, NamesOf1023Characters) {
  std::string directory = path("d");
  while (directory.size() < 900) {
    std::filesystem::create_directory(directory);
    directory += "/" + std::string(90, 'd');
  }
  std::filesystem::create_directory(directory);
  for (const size_t length : {1023u, 1024u}) {
    const std::string name = directory + "/" + std::string(length - directory.size() - 1, 'f');
    ASSERT_EQ(name.size(), length);
    const int sid = create(name, {10});
    EXPECT_EQ(sid >= 0, length == 1023) << sheaf_last_error();
    EXPECT_EQ(std::filesystem::exists(name), length == 1023);
    if (sid < 0) continue;
    EXPECT_EQ(sion_fwrite("x", 1, 1, sid), 1u);
    EXPECT_EQ(sion_close(sid), 1);
    char byte = 0;
    const int again = open_rank(name, 0);
    EXPECT_EQ(sion_fread(&byte, 1, 1, again), 1u);
    EXPECT_EQ(sion_close(again), 1);
  }
}

}  // namespace
}  // namespace sheaf::test::edge_cases_test
