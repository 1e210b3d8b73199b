// Mapped access. N processes write tasks at random places, and M processes read them in every way.
#include <gtest/gtest.h>

#include "multifile/reader/reader.hpp"
#include "multifile/writer/writer.hpp"
#include "support/mapped.hpp"

namespace sheaf::test::mapped_test {

using namespace multifile;

namespace {

constexpr int processes = 3;
constexpr int everywhere = -1;

TEST(Mapped, RandomPlacesWrittenByNReadByM) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    const MappedProgram p = random_mapped(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + p.describe());
    MemoryStore store;
    ASSERT_NO_THROW({
      write_mapped(store, "a.sion", p, seed);
      check_mapped(store, "a.sion", p, seed);
    });
    EXPECT_EQ(std::ssize(store.paths()), p.program.nfiles);
  }
}

TEST(Mapped, SetsWrittenInParallelAreReadByAnyNumber) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    MappedProgram p;
    p.program = random_program(seed);
    const int n = p.program.ntasks();
    for (int t = 0; t < n; ++t) p.places.push_back(layout::place_blockwise(t, n, p.program.nfiles));
    p.readers = 1 + static_cast<int>(seed % 5);
    SCOPED_TRACE("seed " + std::to_string(seed));
    MemoryStore store;
    ASSERT_NO_THROW({
      write_in_parallel(store, "a", p.program, seed);
      read_mapped(store, "a", p, seed);
    });
  }
}

// Unused rounds must have the size -1, and a single file must have a mapping, as in vector `mapped`
// (docs/format.md, section 18).
TEST(Mapped, UnusedRoundsAreMinusOneAndTheMappingIsThereEvenForOneFile) {
  MappedProgram p;
  p.program.fsblksize = 64;
  p.program.requests = {64, 64};
  p.program.steps = {{{Step::write, 10}}, {{Step::write, 64}, {Step::write, 1}}};
  p.places = {{0, 1}, {0, 0}};
  p.owners = {0, 1};
  p.writers = 2;
  MemoryStore store;
  write_mapped(store, "a", p);
  const auto bytes = store.contents("a");
  const size_t meta2 = 1152 + 2 * 128;
  const int64_t table[] = {2, 1, 64, 10, 1, -1};
  for (size_t i = 0; i < std::size(table); ++i)
    EXPECT_EQ(load<int64_t>(bytes.data() + meta2 + 8 * i, native_order), table[i]) << i;
  const int32_t mapping[] = {2, 0, 1, 0, 0};
  ASSERT_GE(bytes.size(), meta2 + 48 + sizeof mapping);
  for (size_t i = 0; i < std::size(mapping); ++i)
    EXPECT_EQ(load<int32_t>(bytes.data() + meta2 + 48 + 4 * i, native_order), mapping[i]) << i;
  EXPECT_EQ(load<int32_t>(bytes.data() + 32, native_order), 0);
}

TEST(Mapped, MoreThanTenThousandBlocksOfOneTask) {
  MappedProgram p;
  p.program.fsblksize = 16;
  p.program.buffer = 300;
  p.program.nfiles = 2;
  p.program.requests = {16, 16, 0, 16};
  p.program.steps = {{{Step::write, 5}}, {{Step::write, 16 * 10'500}}, {}, {}};
  for (int b = 0; b < 10'100; ++b) p.program.steps[3].push_back({Step::write, 9 + b % 8});
  p.places = {{1, 1}, {0, 0}, {1, 0}, {1, 2}};
  p.owners = {0, 1, 1, 0};
  p.writers = 2;
  p.readers = 3;
  MemoryStore store;
  write_mapped(store, "a", p);
  check_mapped(store, "a", p, 1);
}

TEST(Mapped, ManyTasksWithSeveralMetadataWriters) {
  MappedProgram p = random_mapped(5, 6000, 7, 9, 4);
  MemoryStore store;
  write_mapped(store, "a", p);
  read_mapped(store, "a", p, 0);
  check_serially(store, "a", p.program);
}

TEST(Mapped, OverlappingLists) {
  const MappedProgram p = random_mapped(11);
  MemoryStore store;
  write_mapped(store, "a", p);
  TaskHandles shared(store);
  run_fibers(fibers(4), [&](Comm& comm) {
    std::vector<int64_t> all;
    for (int64_t t = p.program.ntasks(); t-- > comm.rank() % 2;) all.push_back(t);
    if (!all.empty()) all.push_back(all.front());  // duplicates one task
    Reader reader(shared, comm.duplicate(), MappedReadRequest{"a", false, all}, mode_of("r"));
    require(std::ssize(reader.tasks()) == std::ssize(all), "all of the list");
    for (const int64_t t : all) {
      reader.select(t);
      reader.stream().seek_block(0, 0);
      check_task(reader.stream(), p, t);
    }
    reader.close();
  });
}

TEST(Mapped, ATaskIsLeftWhereItWas) {
  MappedProgram p;
  p.program.nfiles = 2;
  p.program.requests = {1000, 1000, 1000};
  p.program.steps = {{{Step::write, 900}}, {{Step::write, 800}}, {{Step::write, 700}}};
  p.places = {{0, 0}, {1, 0}, {0, 1}};
  p.owners = {0, 0, 0};
  MemoryStore store;
  write_mapped(store, "a", p);
  Reader reader(store, self_comm(), MappedReadRequest{"a", true, {}}, mode_of("r", 64));
  std::vector<std::byte> bytes(100);
  for (int round = 0; round < 7; ++round)
    for (const int64_t t : {2, 0, 1}) {
      reader.select(t);
      ASSERT_EQ(reader.stream().read(bytes), 100u);
      ASSERT_EQ(bytes, content(t, 100 * round, 100));
    }
  EXPECT_EQ(code_of([&] { reader.select(3); }), Code::out_of_range);
  EXPECT_EQ(reader.task(), 1);
  reader.close();
}

using Change = std::function<void(std::vector<MappedWriteTask>&, MappedWriteRequest&)>;

std::vector<Code> codes_of_mapped_open(int changed, const Change& change) {
  MemoryStore store;
  store.set_contents("a", content(3, 0, 3000));
  TaskHandles shared(store);
  std::vector<Code> codes(processes, Code::ok);
  run_fibers(fibers(processes, 3), [&](Comm& comm) {
    // Process k owns tasks k and k+3; their placements are (0, k) and (1, k).
    const int me = comm.rank();
    std::vector<MappedWriteTask> tasks{{me, 100, {0, me}}, {me + 3, 100, {1, me}}};
    MappedWriteRequest request{"a", 2, 64, {}};
    if (me == changed || changed == everywhere) change(tasks, request);
    request.tasks = tasks;
    codes[static_cast<size_t>(me)] = code_of([&] {
      Writer writer(shared, comm.duplicate(), request, shared_mode_of(comm, "w"));
      writer.close();
    });
  });
  if (codes[0] != Code::ok) {
    EXPECT_EQ(store.contents("a"), content(3, 0, 3000));
    EXPECT_EQ(store.paths(), std::vector<std::string>{"a"});
  }
  EXPECT_EQ(shared.open_files(), 0u);
  return codes;
}

TEST(Mapped, BadPlacesOnOneProcessAreRefusedOnAll) {
  const std::vector<Code> refused(processes, Code::invalid_argument);
  EXPECT_EQ(codes_of_mapped_open(0, [](auto&, auto&) {}), std::vector<Code>(processes, Code::ok));
  const std::vector<std::pair<const char*, Change>> changes{
      {"file out of range", [](auto& t, auto&) { t[0].place.file = 2; }},
      {"negative file", [](auto& t, auto&) { t[0].place.file = -1; }},
      {"negative local rank", [](auto& t, auto&) { t[1].place.local_rank = -1; }},
      {"a gap", [](auto& t, auto&) { t[1].place.local_rank = 3; }},
      {"a place twice", [](auto& t, auto&) { t[1].place.local_rank = (t[1].place.local_rank + 1) % 3; }},
      {"too many in one file", [](auto& t, auto&) { t[1].place.file = 0; }},
      {"negative chunk size", [](auto& t, auto&) { t[0].chunk_size = -1; }},
      {"huge chunk size", [](auto& t, auto&) { t[0].chunk_size = INT64_MAX - 3; }},
      {"negative global rank", [](auto& t, auto&) { t[0].globalrank = -1; }},
      {"global rank out of range", [](auto& t, auto&) { t[0].globalrank = 6; }},
      {"a global rank twice", [](auto& t, auto&) { t[0].globalrank = (t[0].globalrank + 1) % 3; }},
      {"tasks that end too early", [](auto& t, auto&) { t.erase(t.begin()); }},
  };
  for (const auto& [what, change] : changes)
    for (int one = 0; one < processes; ++one)
      EXPECT_EQ(codes_of_mapped_open(one, change), refused) << what << " on " << one;
}

TEST(Mapped, BadNumbersOfFilesAreRefused) {
  const std::vector<Code> refused(processes, Code::invalid_argument);
  for (const int32_t files : {0, -1, INT32_MIN, 1, 3, 7})
    EXPECT_EQ(codes_of_mapped_open(everywhere, [files](auto&, auto& r) { r.nfiles = files; }), refused)
        << files;
}

TEST(Mapped, ReadingATaskThatIsNotThereIsRefusedOnAll) {
  const MappedProgram p = random_mapped(3);
  MemoryStore store;
  write_mapped(store, "a", p);
  TaskHandles shared(store);
  for (const int64_t bad : {int64_t{-1}, int64_t{p.program.ntasks()}, INT64_MAX}) {
    std::vector<Code> codes(processes, Code::ok);
    run_fibers(fibers(processes), [&](Comm& comm) {
      const std::vector<int64_t> list{comm.rank() == 1 ? bad : 0};
      codes[static_cast<size_t>(comm.rank())] = code_of([&] {
        Reader reader(shared, comm.duplicate(), MappedReadRequest{"a", false, list}, mode_of("r"));
      });
    });
    EXPECT_EQ(codes, std::vector<Code>(processes, Code::out_of_range));
  }
}

// If a file is missing, the open must fail on all processes. If only its pointer is missing, as after a death
// at the very end of a close, the open must succeed.
TEST(Mapped, AMissingFileFailsOnAllAndOneWithoutPointerOnNone) {
  for (const bool missing : {true, false})
    for (const char* victim : {"a", "a.000001", "a.000002"}) {
      MappedProgram p = random_mapped(4, 9, 3, 3, 3);
      MemoryStore store;
      write_mapped(store, "a", p);
      const auto n = static_cast<size_t>(
          std::ranges::count(p.places, static_cast<int32_t>(victim == std::string("a") ? 0 : victim[7] - '0'),
                             &layout::Placement::file));
      auto bytes = store.contents(victim);
      std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(1076 + 16 * n), 12, std::byte{0});
      store.set_contents(victim, bytes);
      if (missing) store.remove(victim);
      TaskHandles shared(store);
      std::vector<Code> codes(processes, Code::ok);
      run_fibers(fibers(processes), [&](Comm& comm) {
        codes[static_cast<size_t>(comm.rank())] = code_of([&] {
          Reader reader(shared, comm.duplicate(), MappedReadRequest{"a", true, {}}, mode_of("r"));
        });
      });
      EXPECT_EQ(codes, std::vector<Code>(processes, missing ? Code::not_found : Code::ok)) << victim;
      EXPECT_EQ(shared.open_files(), 0u);
    }
}

}  // namespace
}  // namespace sheaf::test::mapped_test
