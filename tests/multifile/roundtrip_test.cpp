// Random programs, written serially and in parallel. Every kind of reader reads them back, and the test
// compares the data with the model.
#include <gtest/gtest.h>

#include "support/programs.hpp"

namespace sheaf::test::roundtrip_test {

using namespace multifile;

namespace {

TEST(RoundTrip, OfRandomProgramsWrittenSerially) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    const Program p = random_program(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + p.describe());
    MemoryStore store;
    ASSERT_NO_THROW({
      write_serially(store, "a.sion", p, seed);
      check_every_way(store, "a.sion", p, p.buffer);
    });
  }
}

TEST(RoundTrip, OfRandomProgramsWrittenInParallel) {
  for (uint64_t seed = 1001; seed <= 1150; ++seed) {
    const Program p = random_program(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + p.describe());
    MemoryStore store;
    ASSERT_NO_THROW({
      write_in_parallel(store, "a.sion", p, seed % 3 == 0 ? 0 : seed);
      check_every_way(store, "a.sion", p, p.buffer);
    });
    EXPECT_EQ(std::ssize(store.paths()), p.nfiles);
  }
}

TEST(RoundTrip, OfGroupsInReversedOrder) {
  for (uint64_t seed = 2001; seed <= 2060; ++seed) {
    Program p = random_program(seed);
    p.nfiles = 0;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + p.describe());
    MemoryStore store;
    ASSERT_NO_THROW({
      write_in_parallel(store, "a.sion", p, seed);
      check_every_way(store, "a.sion", p, p.buffer);
    });
    // The first task of each file must be the last one of its group.
    const Multifile m = load_multifile(store, "a.sion");
    for (int t = 0; t < p.ntasks(); ++t) {
      const bool last = t + 1 == p.ntasks() || group_of(t + 1, p.ntasks()) != group_of(t, p.ntasks());
      EXPECT_EQ(m.place(t).local_rank == 0, last);
      EXPECT_EQ(m.place(t).file, group_of(t, p.ntasks()));
    }
  }
}

// Without a mapping, a single file cannot record another order of tasks, so the tasks must be in rank order.
TEST(RoundTrip, OfOneGroupInReversedOrder) {
  Program p;
  p.requests = {100, 0, 2000, 5};
  for (int t = 0; t < 4; ++t) p.steps.push_back({{Step::write, t == 1 ? 0 : 70 + t}});
  MemoryStore store;
  TaskHandles shared(store);
  run_fibers(fibers(p.ntasks()), [&](Comm& comm) {
    const int me = comm.rank();
    ParallelWriteRequest request = request_of("a", p, comm);
    request.nfiles = 0;
    request.local = comm.split(0, -me);
    Writer writer(shared, comm.duplicate(), std::move(request), shared_mode_of(comm, "w"));
    Writing task(me, p.chunk(me));
    for (const Step& step : p.steps[static_cast<size_t>(me)]) task.step(writer.stream(), step);
    writer.close();
  });
  check_every_way(store, "a", p);
}

// Returns a physical file without extension header and trailer.
std::vector<std::byte> plain_part(const std::vector<std::byte>& bytes) {
  auto file = without_extension(bytes);
  file.resize(static_cast<size_t>(
      load<int64_t>(file.data() + file.size() - format::footer_size + 40, ByteOrder::little)));
  return file;
}

// Serial and parallel writers must agree on all bytes that docs/format.md requires to be equal.
TEST(RoundTrip, SerialAndParallelFilesDifferOnlyWhereTheFormatSays) {
  for (uint64_t seed = 3001; seed <= 3030; ++seed) {
    Program p = random_program(seed);
    p.nfiles = 1;
    SCOPED_TRACE("seed " + std::to_string(seed));
    MemoryStore one;
    MemoryStore many;
    write_serially(one, "a.sion", p, seed);
    write_in_parallel(many, "a.sion", p, seed);
    auto serial = plain_part(one.contents("a.sion"));
    const auto parallel = plain_part(many.contents("a.sion"));
    ASSERT_EQ(serial.size(), parallel.size() + 4);
    EXPECT_EQ(load<int32_t>(serial.data() + 32, native_order), 1);
    for (size_t i = 32; i < 36; ++i) serial[i] = std::byte{0};
    for (size_t i = parallel.size(); i < serial.size(); ++i) EXPECT_EQ(serial[i], std::byte{0});
    serial.resize(parallel.size());
    EXPECT_EQ(serial, parallel);
  }
}

// Writes the example of docs/format.md, section 15. Every byte must match.
TEST(RoundTrip, WorkedExampleOfTheFormat) {
  Program p;
  p.fsblksize = 128;
  p.requests = {100, 100, 100};
  p.steps = {{{Step::write, 128}, {Step::write, 100}, {Step::ensure, 128}, {Step::write, 1}},
             {},
             {{Step::write, 128}, {Step::ensure, 1}}};
  MemoryStore store;
  write_in_parallel(store, "a.sion", p, 0, "w,checksums=off");
  const auto bytes = store.contents("a.sion");
  ASSERT_EQ(bytes.size(), 2400u);
  const auto i64 = [&](size_t at) { return load<int64_t>(bytes.data() + at, native_order); };
  EXPECT_EQ(load<int32_t>(bytes.data() + 0x464, native_order), 3);
  EXPECT_EQ(i64(0x468), 0x900);
  const int64_t table[] = {3, 1, 2, 128, 0, 128, 100, 0, 0, 1, 0, 0};
  for (size_t i = 0; i < std::size(table); ++i) EXPECT_EQ(i64(0x900 + 8 * i), table[i]) << i;
  EXPECT_EQ(bytes[0x480], content(0, 0));
  EXPECT_EQ(bytes[0x580], content(2, 0));
  EXPECT_EQ(bytes[0x600], content(0, 128));
  EXPECT_EQ(bytes[0x780], content(0, 228));
  check_every_way(store, "a.sion", p);
}

TEST(RoundTrip, ManyBlocksOfOneTask) {
  for (const int64_t blocks : {101, 10'500}) {
    Program p;
    p.fsblksize = 16;
    p.buffer = 300;
    p.requests = {16, 1, 0, 16};
    p.steps = {{{Step::write, 16 * blocks}}, {{Step::write, 5}}, {}, {}};
    for (int64_t b = 0; b < blocks; ++b) p.steps[3].push_back({Step::write, 9 + b % 8});
    MemoryStore store;
    write_serially(store, "s.sion", p);
    check_every_way(store, "s.sion", p);
    p.nfiles = 2;
    write_in_parallel(store, "p.sion", p);
    check_every_way(store, "p.sion", p);
    EXPECT_EQ(load_multifile(store, "p.sion").maxblocks(), blocks);
  }
}

TEST(RoundTrip, WithoutAnyTaskWriting) {
  Program p;
  p.requests = {0, 10, 0};
  p.steps.resize(3);
  MemoryStore store;
  write_serially(store, "s.sion", p);
  write_in_parallel(store, "p.sion", p);
  check_every_way(store, "s.sion", p);
  check_every_way(store, "p.sion", p);
}

TEST(RoundTrip, OfManyTasksWithSeveralMetadataWriters) {
  Program p;
  p.fsblksize = 32;
  p.nfiles = 2;
  Random random(5);
  for (int t = 0; t < 5000; ++t) {
    p.requests.push_back(random.below(100));
    p.steps.push_back({{Step::write, random.below(200)}, {Step::write, random.below(60)}});
  }
  MemoryStore store;
  write_in_parallel(store, "a.sion", p);
  check_serially(store, "a.sion", p);
  check_in_parallel(store, "a.sion", p);
}

}  // namespace
}  // namespace sheaf::test::roundtrip_test
