// Checksums of slices that are so large per task that they reach the metadata writers in rounds
// (multifile/metadata/slice_sums). The tests write no actual data: they make each stream behave as if its
// task had written it.
#include <gtest/gtest.h>

#include "base/crc32c.hpp"
#include "multifile/metadata/slice_sums.hpp"
#include "multifile/stream/file_checks.hpp"
#include "multifile/tools/verify.hpp"
#include "support/mapped.hpp"
#include "support/stores/faulty_store.hpp"

namespace sheaf::test::slice_sums_test {

using namespace multifile;

namespace {

constexpr int64_t piece = format::default_piece;

using Sums = std::vector<uint32_t>;

Sums modelled_sums(int64_t task, int64_t count) {
  Sums sums(static_cast<size_t>(count));
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i] = static_cast<uint32_t>(2654435761U * (task + 1) + i * 40503U);
  return sums;
}

// Makes the stream of an idle task behave as if the task had written one piece of data per checksum.
void pretend(WriteStream& stream, int64_t local_rank, Sums sums) {
  const layout::ChunkGeometry geometry = stream.geometry();
  TaskBlocks blocks = stream.park();
  blocks.position = blocks.high = piece * std::ssize(sums);
  blocks.past = std::make_unique<TaskBlocks::Past>();
  blocks.past->sums = std::move(sums);
  stream.load(geometry, std::move(blocks), local_rank);
  if (stream.target().file().status().size < stream.file_position())
    stream.target().file().resize(stream.file_position());
}

// Checks that the physical file is consistent and holds these checksums, one set per task.
void expect_sums(Store& store, const std::string& path, const std::vector<Sums>& expected) {
  const auto file = store.open(path, Access::read);
  MetadataReader reader(*file);
  FileChecks* const checks = reader.checks(reader.read_pointer());
  ASSERT_TRUE(checks);
  ASSERT_EQ(reader.header().ntasks, std::ssize(expected));
  const std::vector<SumsPlace> places = checks->check_tasks(0, std::ssize(expected));
  checks->check_sums();
  for (size_t t = 0; t < expected.size(); ++t) {
    Sums found(expected[t].size());
    read_sums(*file, places[t].at, found);
    EXPECT_TRUE(found == expected[t]) << "task " << t << " of " << path;
  }
}

void expect_sound(Store& store, const std::string& path) {
  WorkProgress quiet;
  for (const FileReport& f : verify(store, path, false, quiet).files)
    for (const Finding& finding : f.findings) ADD_FAILURE() << finding.message;
}

// A multifile whose tasks have a given number of checksums each.
struct Modelled {
  std::vector<int64_t> counts;
  int32_t nfiles = 1;
  std::string words = "w";

  Sums sums(int64_t task) const { return modelled_sums(task, counts[static_cast<size_t>(task)]); }

  // Returns the code of the close on every task.
  std::vector<Code> write(Store& inner, const std::function<void(Writer&)>& before_close = {}) const {
    SharedHandles store(inner);
    std::vector<Code> codes(counts.size(), Code::ok);
    run_fibers(fibers(static_cast<int>(counts.size())), [&](Comm& comm) {
      ParallelWriteRequest request;
      request.path = "a";
      request.nfiles = nfiles;
      request.fsblksize = 4096;
      request.chunk_size = piece * counts[static_cast<size_t>(comm.rank())];
      request.keeps_chunks = true;
      Writer writer(store, comm.duplicate(), std::move(request), shared_mode_of(comm, words, 100));
      pretend(writer.stream(), writer.local().rank(), sums(comm.rank()));
      if (before_close) before_close(writer);
      codes[static_cast<size_t>(comm.rank())] = code_of([&] { writer.close(); });
    });
    return codes;
  }

  void expect_in(Store& store) const {
    expect_sound(store, "a");
    std::vector<std::vector<Sums>> files(static_cast<size_t>(nfiles));
    for (int t = 0; t < std::ssize(counts); ++t)
      files[static_cast<size_t>(layout::place_blockwise(t, static_cast<int32_t>(counts.size()), nfiles).file)]
          .push_back(sums(t));
    for (int32_t k = 0; k < nfiles; ++k)
      expect_sums(store, format::physical_name("a", k), files[static_cast<size_t>(k)]);
  }
};

void expect_written(const Modelled& m) {
  MemoryStore store;
  for (const Code code : m.write(store)) EXPECT_EQ(code, Code::ok);
  m.expect_in(store);
}

TEST(SliceSums, OfASingleTaskComeInWindows) {
  for (const int64_t count : {sums_in_rows, sums_in_rows + 1, 2 * sums_of_window, 2 * sums_of_window + 1})
    expect_written({{count}});
}

TEST(SliceSums, OfTasksWithFewAndWithMany) {
  constexpr int64_t half = sums_of_window / 2;
  expect_written({{0, half + 1, 5, 2 * half - 1, half, 0, half + 7}});
  expect_written({{3, 0, 0, 3 * sums_of_window, 1}});
}

// One file needs rounds; the other files have so few checksums that they are complete before any round.
TEST(SliceSums, OfSeveralFilesSomeOfWhichNeedRounds) {
  for (const char* const words : {"w", "w,durable"}) {
    expect_written({{9, 9, 9, 9, sums_of_window, sums_of_window + 1, 9, 9}, 4, words});
    expect_written({{sums_of_window, sums_of_window + 1, 9, 9}, 2, words});
  }
}

TEST(SliceSums, OfSeveralMetadataWritersOfAFile) {
  Modelled m;
  for (int64_t t = 0; t < 2500; ++t) m.counts.push_back(t < 1024 ? t % 3 : t * 7919 % 4999);
  expect_written(m);
  m.nfiles = 2;
  expect_written(m);
}

// Only the tasks know their files, so the metadata writers must gather the mapping.
TEST(SliceSums, WithAMappingThatIsGathered) {
  MemoryStore memory;
  SharedHandles store(memory);
  const auto count_of = [](int task) { return task == 3 ? 5 : sums_of_window / 2 + task; };
  run_fibers(fibers(6), [&](Comm& comm) {
    ParallelWriteRequest request;
    request.path = "a";
    request.nfiles = -1;
    request.local = comm.split(comm.rank() % 2, -comm.rank());
    request.fsblksize = 4096;
    request.chunk_size = piece * count_of(comm.rank());
    request.keeps_chunks = true;
    Writer writer(store, comm.duplicate(), std::move(request), shared_mode_of(comm, "w", 100));
    pretend(writer.stream(), writer.local().rank(), modelled_sums(comm.rank(), count_of(comm.rank())));
    writer.close();
  });
  expect_sound(memory, "a");
  const auto sums = [&](int t) { return modelled_sums(t, count_of(t)); };
  expect_sums(memory, "a", {sums(4), sums(2), sums(0)});
  expect_sums(memory, "a.000001", {sums(5), sums(3), sums(1)});
}

// Whatever store operation fails, all tasks must have one outcome, and a closed multifile must be correct.
TEST(SliceSums, FaultsInRoundsHaveOneOutcome) {
  for (const int32_t nfiles : {1, 2}) {
    const Modelled m{{7, sums_of_window + 3, sums_of_window, 5, 2}, nfiles, "w,durable"};
    MemoryStore all;
    FaultyStore counting(all);
    m.write(counting);
    const auto operations = std::ssize(counting.log());
    ASSERT_GT(operations, 20);
    int failed = 0;
    for (int64_t at = 0; at < operations; ++at) {
      const OperationRecord operation = counting.log()[static_cast<size_t>(at)];
      if (operation.kind != StoreOperation::write && operation.kind != StoreOperation::sync &&
          operation.kind != StoreOperation::close)
        continue;
      SCOPED_TRACE("operation " + std::to_string(at) + " of " + std::to_string(operations) + ": " +
                   name_of(operation.kind));
      MemoryStore memory;
      FaultPlan plan;
      plan.fail_at = at;
      FaultyStore faulty(memory, plan);
      std::vector<Code> codes;
      if (code_of([&] { codes = m.write(faulty); }) != Code::ok)
        continue;  // the open failed, so no task reached the close
      EXPECT_EQ(std::ranges::count(codes, codes[0]), std::ssize(codes));
      if (codes[0] == Code::ok) m.expect_in(memory);
      failed += codes[0] != Code::ok;
    }
    EXPECT_GT(failed, 8);
  }
}

TEST(SliceSums, ALaterMetadataWriterThatCannotWriteItsWindowFailsTheClose) {
  Modelled m;
  for (int t = 0; t < 1500; ++t) m.counts.push_back(t < 1024 ? 1 : 4999);
  MemoryStore all;
  FaultyStore counting(all);
  m.write(counting);
  const auto log = counting.log();
  const auto last = std::ranges::max_element(log, {}, [](const OperationRecord& o) {
    return o.kind == StoreOperation::write && o.length == 1 << 20 ? o.offset : 0;
  });
  ASSERT_EQ(last->length, 1 << 20);
  FaultPlan plan;
  plan.fail_at = last - log.begin();
  MemoryStore memory;
  FaultyStore faulty(memory, plan);
  for (const Code code : m.write(faulty)) EXPECT_EQ(code, Code::io);
  EXPECT_EQ(code_of([&] { MetadataReader(*memory.open("a", Access::read)).read_pointer(); }), Code::unclosed);
}

TEST(SliceSums, ATaskThatHasFailedFailsTheClose) {
  const Modelled m{{sums_of_window, 7, sums_of_window + 3, 5}, 1, "w"};
  for (const int failing : {0, 1, 2}) {
    MemoryStore store;
    const auto codes = m.write(store, [&](Writer& writer) {
      if (writer.task() == failing) writer.stream().target().lose(Error(Code::io, "lost"));
    });
    for (const Code code : codes) EXPECT_EQ(code, Code::io);
    EXPECT_EQ(code_of([&] { MetadataReader(*store.open("a", Access::read)).read_pointer(); }),
              Code::unclosed);
  }
}

// Tasks of several processes write two files. Then an append extends all tasks but one, some of them with new
// blocks.
TEST(SliceSums, OfMappedTasksAndOfThoseAppendedTo) {
  constexpr int processes = 3;
  const std::vector<int64_t> counts{
      4, sums_of_window / 2 + 1, sums_of_window, 0, sums_of_window / 2, 3, 900'000, 2};
  const auto tasks = std::ssize(counts);
  const auto place_of = [](int64_t t) {
    return layout::Placement{static_cast<int32_t>(t % 2), static_cast<int32_t>(t / 2)};
  };
  // Even tasks have space for one more piece, odd tasks are full.
  const auto chunk_of = [&](int64_t t) {
    return piece * (counts[static_cast<size_t>(t)] + (t % 2 == 0 || t == 3));
  };
  std::vector<std::vector<Sums>> files(2);
  for (int64_t t = 0; t < tasks; ++t)
    files[static_cast<size_t>(t % 2)].push_back(modelled_sums(t, counts[static_cast<size_t>(t)]));
  MemoryStore memory;
  TaskHandles store(memory);
  run_fibers(fibers(processes), [&](Comm& comm) {
    std::vector<MappedWriteTask> mine;
    for (int64_t t = tasks; t-- > 0;)
      if (t * 5 % processes == comm.rank()) mine.push_back({t, chunk_of(t), place_of(t)});
    Writer writer(store, comm.duplicate(), {"a", 2, 4096, mine}, shared_mode_of(comm, "w", 100));
    for (const MappedWriteTask& t : mine) {
      writer.select(t.globalrank);
      pretend(writer.stream(), t.place.local_rank,
              files[static_cast<size_t>(t.place.file)][static_cast<size_t>(t.place.local_rank)]);
    }
    writer.close();
  });
  expect_sound(memory, "a");
  expect_sums(memory, "a", files[0]);
  expect_sums(memory, "a.000001", files[1]);

  // No process owns task 2.
  const auto more_of = [](int64_t t) { return content(t, 0, 1000 + t); };
  run_fibers(fibers(processes), [&](Comm& comm) {
    std::vector<int64_t> mine;
    for (int64_t t = 0; t < tasks; ++t)
      if (t != 2 && t * 7 % processes == comm.rank()) mine.push_back(t);
    Writer writer(store, comm.duplicate(), MappedAppendRequest{{"a", false, mine}, 0},
                  mode_of("append", 100));
    for (const int64_t t : mine) {
      writer.select(t);
      if (writer.stream().geometry().size > 0) writer.stream().write(more_of(t));
    }
    writer.close();
  });
  require(store.open_files() == 0, "all files closed");
  for (int64_t t = 0; t < tasks; ++t)
    if (t != 2 && chunk_of(t) > 0)
      files[static_cast<size_t>(t % 2)][static_cast<size_t>(t / 2)].push_back(crc32c(0, more_of(t)));
  expect_sound(memory, "a");
  expect_sums(memory, "a", files[0]);
  expect_sums(memory, "a.000001", files[1]);
}

TEST(SliceSums, OfAppendedTasksThatNobodyTouches) {
  const Modelled m{{sums_of_window / 2, sums_of_window, 4, 70'000}, 2, "w"};
  MemoryStore store;
  m.write(store);
  const int64_t before = store.status("a.000001").size;
  run_fibers(fibers(2), [&](Comm& comm) {
    const std::vector<int64_t> mine{comm.rank()};
    Writer(store, comm.duplicate(), MappedAppendRequest{{"a", false, mine}, 0}, mode_of("append")).close();
  });
  EXPECT_EQ(store.status("a.000001").size, before);
  m.expect_in(store);
}

}  // namespace
}  // namespace sheaf::test::slice_sums_test
