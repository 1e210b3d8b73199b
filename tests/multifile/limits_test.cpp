// Sizes and numbers at the limits of their ranges. Calls beyond a limit must fail without harm.
#include <gtest/gtest.h>

#include "support/programs.hpp"

namespace sheaf::test::limits_test {

using namespace multifile;

namespace {

constexpr int64_t gib = int64_t{1} << 30;

// If tasks are threads of one process, the process has a stream for each of up to a million tasks.
static_assert(sizeof(void*) != 8 || (sizeof(WriteStream) <= 192 && sizeof(ReadStream) <= 144));

TEST(Limits, ChunksBeyond2GiBAndFilesBeyond4GiB) {
  Program p;
  p.fsblksize = 4096;
  p.requests = {3 * gib + 1, 5 * gib, 100};
  p.steps = {{{Step::write, 1000}, {Step::ensure, 3 * gib + 4096}, {Step::write, 70000}},
             {{Step::write, 10}, {Step::ensure, 5 * gib}, {Step::write, 20}, {Step::ensure, 5 * gib}},
             {{Step::write, 5000}, {Step::write, 4096}}};
  for (const int nfiles : {1, 2}) {
    p.nfiles = nfiles;
    MemoryStore store;
    write_in_parallel(store, "p", p);
    EXPECT_GT(store.status("p").size, int64_t{1} << 32);
    check_every_way(store, "p", p);
    EXPECT_LT(store.allocated(), 1 << 20);
  }
  MemoryStore store;
  write_serially(store, "s", p);
  check_every_way(store, "s", p);
}

TEST(Limits, BytesAcross4GiBInsideOneChunk) {
  MemoryStore store;
  const int64_t size = 5 * gib;
  const int64_t rank = 0;
  Writer writer(store, {"a", {&size, 1}, {&rank, 1}, 4096}, mode_of("w,checksums=off", 300));
  constexpr int64_t start = int64_t{4} * gib - 50;
  WriteStream& stream = writer.stream();
  // Moves the position without a write, as a program can in its own stream.
  const layout::ChunkGeometry chunks = stream.geometry();
  stream.load(chunks, {nullptr, start, start}, 0);
  stream.write(content(0, start, 100));
  EXPECT_EQ(stream.position().offset, start + 100);
  stream.write(content(0, start + 100, 70000));
  writer.close();
  Reader reader(store, "a", mode_of("r"));
  ASSERT_TRUE(reader.stream().seek_absolute(start));
  std::vector<std::byte> found(70100);
  EXPECT_EQ(reader.stream().read(found), found.size());
  EXPECT_EQ(found, content(0, start, 70100));
  EXPECT_EQ(reader.stream().bytes_read(), start + 70100);
}

TEST(Limits, ChunkSizesThatAddUpToMoreThan63BitsAreRefusedAndNothingIsLeft) {
  constexpr int64_t huge = int64_t{1} << 62;
  Program p;
  p.fsblksize = 4096;
  p.requests = {huge, huge, 1};
  p.steps.resize(3);
  for (const int nfiles : {1, 2, 3}) {
    p.nfiles = nfiles;
    MemoryStore store;
    const bool fits = nfiles > 1;
    EXPECT_EQ(code_of([&] { write_in_parallel(store, "p", p); }), fits ? Code::ok : Code::invalid_argument);
    EXPECT_EQ(store.paths().empty(), !fits);
  }
  MemoryStore store;
  EXPECT_EQ(code_of([&] { write_serially(store, "s", p); }), Code::invalid_argument);
  EXPECT_TRUE(store.paths().empty());
}

TEST(Limits, AChunkThatCannotBeRoundedUpIsRefused) {
  Program p;
  p.requests = {INT64_MAX - 3, 1};
  p.steps.resize(2);
  MemoryStore store;
  EXPECT_EQ(code_of([&] { write_in_parallel(store, "p", p); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { write_serially(store, "s", p); }), Code::invalid_argument);
  EXPECT_TRUE(store.paths().empty());
}

// If a further chunk would lie beyond 2^63, beginning it must fail, and the stream must still be closable.
TEST(Limits, AChunkBeyond63BitsCannotBeBegun) {
  MemoryStore store;
  const std::vector<int64_t> sizes{(int64_t{1} << 62) - 8192, 4096};
  const std::vector<int64_t> ranks{0, 1};
  Writer writer(store, {"a", sizes, ranks, 4096}, mode_of("w"));
  writer.stream().write(content(0, 0, 10));
  writer.stream().ensure_free_space(sizes[0]);
  EXPECT_EQ(code_of([&] {
              writer.stream().write(content(0, 10, 1));
              writer.stream().ensure_free_space(sizes[0]);
            }),
            Code::invalid_argument);
  EXPECT_EQ(writer.stream().position().block, 1);
  EXPECT_EQ(writer.stream().bytes_written(), 11);
}

TEST(Limits, NamesUpTo1023CharactersOr1016InASet) {
  for (size_t length = 1016; length <= 1024; ++length) {
    const std::string name(length, 'n');
    for (const int nfiles : {1, 3}) {
      Program p;
      p.nfiles = nfiles;
      p.requests = {10, 10, 10};
      p.steps.assign(3, {{Step::write, 5}});
      MemoryStore store;
      const bool fits = length <= (nfiles == 1 ? 1023u : 1016u);
      EXPECT_EQ(code_of([&] { write_in_parallel(store, name, p); }),
                fits ? Code::ok : Code::invalid_argument);
      if (fits) check_every_way(store, name, p);
      EXPECT_EQ(std::ssize(store.paths()), fits ? nfiles : 0) << length;
      if (nfiles > 1) continue;
      EXPECT_EQ(code_of([&] { write_serially(store, name, p); }), fits ? Code::ok : Code::invalid_argument);
    }
  }
}

TEST(Limits, BlockSizesOfTheFileSystem) {
  constexpr int32_t fallback = 2 << 20;
  for (const auto& [found, expected] :
       std::vector<std::pair<int64_t, int32_t>>{{1, 1},
                                                {512, 512},
                                                {32 << 20, 32 << 20},
                                                {(32 << 20) + 1, fallback},
                                                {int64_t{1} << 33, fallback}}) {
    Program p;
    p.requests = {1, 1};
    p.steps.assign(2, {{Step::write, 1}});
    for (const int32_t given : {-1, 0}) {
      MemoryStore store(found);
      p.fsblksize = expected;
      const Program same = p;
      p.fsblksize = given;
      const std::vector<int64_t> ranks{0, 1};
      Writer writer(store, {"s", p.requests, ranks, given}, mode_of("w"));
      EXPECT_EQ(writer.facts().fsblksize, expected);
      writer.close();
      SharedHandles shared(store);
      run_fibers(fibers(2), [&](Comm& comm) {
        Writer parallel(shared, comm.duplicate(), request_of("p", p, comm), mode_of("w"));
        require(parallel.facts().fsblksize == expected, "block size");
        parallel.stream().write(content(comm.rank(), 0, 1));
        parallel.close();
      });
      check_every_way(store, "p", same);
    }
  }
}

}  // namespace
}  // namespace sheaf::test::limits_test
