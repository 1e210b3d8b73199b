// Streams must preallocate space ahead of large writes, and release the unused rest when they leave a chunk.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "support/programs.hpp"

namespace sheaf::test::room_ahead_test {

using namespace multifile;

namespace {

constexpr int64_t MiB = 1 << 20;

class RoomAhead : public ::testing::Test {
 protected:
  RoomAhead()
      : path_(std::filesystem::temp_directory_path() / ("sheaf-room-" + std::to_string(::getpid()))) {}
  ~RoomAhead() override { std::filesystem::remove(path_); }

  int64_t allocated() { return posix_store().status(path_).allocated; }

  // Writes a serial multifile of `tasks` tasks with chunks of `chunk` bytes. use(writer) writes the data.
  template <class Use>
  void write(Store& store, int tasks, int64_t chunk, Use use) {
    const std::vector<int64_t> sizes(static_cast<size_t>(tasks), chunk);
    std::vector<int64_t> ranks(static_cast<size_t>(tasks));
    std::iota(ranks.begin(), ranks.end(), 0);
    Writer writer(store, {path_, sizes, ranks, 4096}, mode_of("w"));
    use(writer);
    writer.close();
  }

  void expect_bytes(int64_t task, int64_t total) {
    Reader reader(posix_store(), path_, mode_of("r"));
    reader.select(task);
    std::vector<std::byte> found(static_cast<size_t>(total) + 1);
    EXPECT_EQ(reader.stream().read(found), static_cast<size_t>(total));
    found.pop_back();
    EXPECT_TRUE(found == content(task, 0, total)) << "task " << task;
  }

  std::string path_;
};

TEST_F(RoomAhead, WhatIsNotUsedIsGivenBackAtTheClose) {
  for (const int64_t last : {MiB, 16 * MiB - 1, 16 * MiB, 16 * MiB + 1, 20 * MiB - 77}) {
    int64_t while_open = 0;
    write(posix_store(), 1, 40 * MiB, [&](Writer& writer) {
      for (int64_t at = 0; at < last; at += MiB)
        writer.stream().write(content(0, at, std::min(MiB, last - at)));
      while_open = allocated();
    });
    const bool aside = while_open >= 16 * MiB && last == MiB;
    if (last == MiB && !aside) GTEST_SKIP() << "no room is set aside on this file system";
    EXPECT_LE(allocated(), last + MiB / 2) << last;
    expect_bytes(0, last);
  }
}

TEST_F(RoomAhead, InEveryBlockAndForEveryTask) {
  write(posix_store(), 2, 20 * MiB, [](Writer& writer) {
    for (int block = 0; block < 2; ++block)
      for (int task = 0; task < 2; ++task) {
        writer.select(task);
        writer.stream().write(content(task, block * 3 * MiB, MiB));
        writer.stream().write(content(task, block * 3 * MiB + MiB, 2 * MiB));
        if (block == 0) writer.stream().ensure_free_space(20 * MiB);
      }
  });
  EXPECT_LE(allocated(), 4 * 3 * MiB + MiB / 2);
  for (int task = 0; task < 2; ++task) expect_bytes(task, 6 * MiB);
}

// Requests fill chunks, exceed a chunk, or end between two multiples of the preallocation unit.
TEST_F(RoomAhead, OfRequestsOverSeveralChunks) {
  write(posix_store(), 2, 17 * MiB + 4096, [](Writer& writer) {
    for (int task = 0; task < 2; ++task) {
      writer.select(task);
      writer.stream().write(content(task, 0, 36 * MiB + 5));
      writer.stream().write(content(task, 36 * MiB + 5, 700'000));
    }
  });
  EXPECT_LE(allocated(), 74 * MiB + MiB / 2);
  for (int task = 0; task < 2; ++task) expect_bytes(task, 36 * MiB + 700'005);
}

// Once the program has the stream, the program itself writes after the data of the library. Preallocation
// must end.
TEST_F(RoomAhead, EndsWhenTheProgramAsksForTheStream) {
  write(posix_store(), 1, 40 * MiB, [&](Writer& writer) {
    WriteStream& stream = writer.stream();
    stream.write(content(0, 0, MiB));
    FILE* const shared = stream.share(true).stream();
    ASSERT_NE(shared, nullptr);
    EXPECT_LE(allocated(), MiB + MiB / 2);
    const auto mine = content(0, MiB, 2 * MiB);
    EXPECT_EQ(std::fwrite(mine.data(), 1, mine.size(), shared), mine.size());
    stream.write(content(0, 3 * MiB, 3 * MiB));
    const auto more = content(0, 6 * MiB, 12 * MiB);
    EXPECT_EQ(std::fwrite(more.data(), 1, more.size(), shared), more.size());
  });
  EXPECT_LE(allocated(), 18 * MiB + MiB / 2);
  expect_bytes(0, 18 * MiB);
}

// A store without preallocation must yield the same bytes.
TEST_F(RoomAhead, ChangesNothingInTheFile) {
  Program p;
  p.fsblksize = 4096;
  p.buffer = 128 << 10;
  p.requests = {17 * MiB, 2 * MiB, 33 * MiB};
  p.steps = {{{Step::write, MiB}, {Step::write, 17 * MiB}},
             {{Step::write, 600'000}, {Step::write, 5}},
             {{Step::write, 20 * MiB}, {Step::ensure, 30 * MiB}, {Step::write, 999'999}}};
  MemoryStore memory;
  write_serially(memory, path_, p);
  write_serially(posix_store(), path_, p);
  const auto file = posix_store().open(path_, Access::read);
  std::vector<std::byte> found(static_cast<size_t>(file->status().size));
  EXPECT_EQ(file->read_at(found, 0), found.size());
  EXPECT_TRUE(without_extension(found) == without_extension(memory.contents(path_)));
  check_serially(posix_store(), path_, p);
}

}  // namespace
}  // namespace sheaf::test::room_ahead_test
