// Programs that write beyond their chunks through their own streams. A successful close must store every byte
// of every task, a failed one must name the tasks with lost bytes. All stored bytes must be readable.
#include <gtest/gtest.h>

#include <filesystem>

#include "storage/testing.hpp"
#include "support/mapped.hpp"
#include "support/stores/faulty_store.hpp"

namespace sheaf::test::overruns_test {

using namespace multifile;

namespace {

enum class OverrunActKind {
  stream,
  pending,  // stays in the buffer of the program's stream
  library,
  learn,
};

struct Act {
  int task;
  OverrunActKind kind;
  int64_t bytes = 0;
};

struct OverrunScript {
  std::vector<int64_t> chunks;
  std::vector<Act> acts;  // in this order, across processes
  std::string words = "w";

  int64_t total(int task) const {
    int64_t bytes = 0;
    for (const Act& a : acts) bytes += a.task == task ? a.bytes : 0;
    return bytes;
  }
};

class Overruns : public ::testing::Test {
 protected:
  static constexpr int32_t block = 64;

  // A task and the bytes it has written so far.
  struct OverrunTask {
    int number;
    int64_t done = 0;
  };

  static void act(WriteStream& stream, OverrunTask& task, const Act& a) {
    const auto data = content(task.number, task.done, a.bytes);
    FILE* const file = stream.share(true).stream();
    if (a.kind == OverrunActKind::library) {
      stream.write(data);
    } else if (a.bytes > 0) {
      require(std::fwrite(data.data(), 1, data.size(), file) == data.size(), "fwrite");
      if (a.kind == OverrunActKind::stream) std::fflush(file);
    }
    if (a.kind == OverrunActKind::learn) stream.flush();
    task.done += a.bytes;
  }

  // Closes the file as the calls of the interface do.
  template <class Writer>
  static std::optional<Error> close(Writer& writer) {
    attempt([&] { writer.stream().flush(); });
    return attempt([&] { writer.close(); });
  }

  // Each of the following functions runs a script and returns the error of the close. The error must be the
  // same on all processes.
  std::optional<Error> serially(const OverrunScript& s, Store& store = posix_store()) {
    std::vector<int64_t> ranks(s.chunks.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    Writer writer(store, {path, s.chunks, ranks, block}, mode_of(s.words));
    std::vector<OverrunTask> tasks;
    for (size_t t = 0; t < s.chunks.size(); ++t) tasks.push_back({static_cast<int>(t)});
    writer.stream().share(true);
    for (const Act& a : s.acts) {
      attempt([&] { writer.select(a.task); });
      attempt([&] { act(writer.stream(), tasks[static_cast<size_t>(a.task)], a); });
    }
    return close(writer);
  }

  std::optional<Error> in_parallel(const OverrunScript& s, int32_t nfiles = 1, uint64_t seed = 0) {
    SharedHandles store(posix_store());
    std::vector<std::optional<Error>> closes(s.chunks.size());
    run_fibers(fibers(static_cast<int>(s.chunks.size()), seed), [&](Comm& comm) {
      ParallelWriteRequest request;
      request.path = path;
      request.nfiles = nfiles;
      request.fsblksize = block;
      request.chunk_size = s.chunks[static_cast<size_t>(comm.rank())];
      Writer writer(store, comm.duplicate(), std::move(request), shared_mode_of(comm, s.words, 128 << 10));
      OverrunTask task{comm.rank()};
      for (const Act& a : s.acts) {
        if (a.task == comm.rank()) attempt([&] { act(writer.stream(), task, a); });
        comm.barrier();
      }
      closes[static_cast<size_t>(comm.rank())] = close(writer);
    });
    return same(closes);
  }

  // Runs the script in two processes, one for the even tasks and one for the odd tasks.
  std::optional<Error> mapped(const OverrunScript& s, uint64_t seed = 0) {
    SharedHandles store(posix_store());
    std::vector<std::optional<Error>> closes(2);
    run_fibers(fibers(2, seed), [&](Comm& comm) {
      std::vector<MappedWriteTask> mine;
      std::vector<OverrunTask> tasks(s.chunks.size());
      for (int t = 0; t < static_cast<int>(s.chunks.size()); ++t) {
        tasks[static_cast<size_t>(t)].number = t;
        if (t % 2 == comm.rank()) mine.push_back({t, s.chunks[static_cast<size_t>(t)], {0, t}});
      }
      Writer writer(store, comm.duplicate(), {path, 1, block, mine},
                    shared_mode_of(comm, s.words, 128 << 10));
      for (const Act& a : s.acts) {
        if (a.task % 2 == comm.rank()) {
          attempt([&] { writer.select(a.task); });
          attempt([&] { act(writer.stream(), tasks[static_cast<size_t>(a.task)], a); });
        }
        comm.barrier();
      }
      closes[static_cast<size_t>(comm.rank())] = close(writer);
    });
    return same(closes);
  }

  static std::optional<Error> same(const std::vector<std::optional<Error>>& closes) {
    for (const auto& c : closes)
      EXPECT_EQ(c.has_value(), closes[0].has_value()) << "tasks disagree about the close";
    return closes[0];
  }

  // Returns whether every task's stream is readable and equals the written data.
  bool all_there(const OverrunScript& s) {
    bool right = true;
    Reader reader(posix_store(), path, mode_of("r,checksums=off"));
    for (int t = 0; t < static_cast<int>(s.chunks.size()); ++t) {
      reader.select(t);
      std::vector<std::byte> found(static_cast<size_t>(s.total(t)) + 1);
      found.resize(reader.stream().read(found));
      right &= found == content(t, 0, s.total(t));
      for (int64_t b = 0; b < reader.stream().sizes().count; ++b)
        EXPECT_LE(reader.stream().sizes()[b], reader.stream().geometry().size) << "a block beyond its chunk";
    }
    return right;
  }
  void expect_good(const OverrunScript& s, const std::optional<Error>& close) {
    EXPECT_FALSE(close) << close->what();
    EXPECT_TRUE(all_there(s));
    // Repeats the check with checksums.
    const Multifile m = load_multifile(posix_store(), path);
    Reader reader(posix_store(), path, mode_of("r"));
    for (int64_t t = 0; t < m.ntasks(); ++t) {
      reader.select(t);
      std::vector<std::byte> found(1 << 20);
      EXPECT_NO_THROW(reader.stream().read(found));
    }
  }
  void expect_loss(const OverrunScript& s, const std::optional<Error>& close,
                   const std::vector<std::string>& said) {
    ASSERT_TRUE(close);
    for (const std::string& text : said)
      EXPECT_NE(std::string(close->what()).find(text), std::string::npos) << close->what();
    all_there(s);
  }

  testing::TemporaryDirectory directory;
  const std::string path = directory / "a";
};

TEST_F(Overruns, OfAFileWithOneTaskLoseNothing) {
  for (const std::string words : {"w", "w,journal=off,checksums=off", "w,durable"}) {
    const OverrunScript s{{64},
                          {{0, OverrunActKind::pending, 300},
                           {0, OverrunActKind::library, 10},
                           {0, OverrunActKind::stream, 500}},
                          words};
    expect_good(s, serially(s));
    expect_good(s, in_parallel(s));
    expect_good(s, mapped(s));
  }
}

TEST_F(Overruns, IntoChunksThatNobodyUsesLoseNothing) {
  for (const std::string words : {"w", "w,journal=off,checksums=off", "w,collsize=2"}) {
    // The last chunk grows over all other chunks, and over its own next chunk.
    for (const int64_t bytes : {65, 128, 150, 200, 256, 1000}) {
      const OverrunScript s{{64, 64, 128}, {{1, OverrunActKind::stream, bytes}}, words};
      SCOPED_TRACE(words + ", " + std::to_string(bytes));
      expect_good(s, serially(s));
      expect_good(s, in_parallel(s));
      expect_good(s, mapped(s));
    }
  }
}

TEST_F(Overruns, ThatWereMovedBeforeTheNeighbourWroteLoseNothing) {
  const OverrunScript s{{64, 64, 64},
                        {{1, OverrunActKind::stream, 100},
                         {1, OverrunActKind::learn},
                         {2, OverrunActKind::stream, 50},
                         {2, OverrunActKind::learn},
                         {0, OverrunActKind::library, 30},
                         {1, OverrunActKind::stream, 20}}};
  expect_good(s, serially(s));
  expect_good(s, in_parallel(s));
  expect_good(s, mapped(s));
}

TEST_F(Overruns, OverWhatANeighbourHasWrittenFailTheClose) {
  for (const OverrunActKind kind : {OverrunActKind::stream, OverrunActKind::library}) {
    const OverrunScript s{{64, 64, 64},
                          {{2, kind, 10},
                           {2, OverrunActKind::learn},
                           {1, OverrunActKind::stream, 100},
                           {0, OverrunActKind::stream, 20}}};
    const std::vector<std::string> said{"task 1 wrote 36 bytes behind its chunk 0",
                                        "10 bytes of task 2 (block 0, from byte 0)"};
    expect_loss(s, serially(s), said);
    expect_loss(s, in_parallel(s), said);
    expect_loss(s, in_parallel({s.chunks, s.acts, "w,checksums=off"}), said);
    expect_loss(s, mapped({s.chunks, s.acts, "w,journal=off"}), {"task 1 wrote", "of task 2"});
  }
}

// If a program overwrites bytes that only the library wrote, their checksums are known, so a reader must
// detect the damage.
TEST_F(Overruns, OverBytesOfTheLibraryAreFoundByReaders) {
  SharedHandles store(posix_store());
  run_fibers(fibers(2), [&](Comm& comm) {
    ParallelWriteRequest request;
    request.path = path;
    request.fsblksize = block;
    request.chunk_size = 64;
    Writer writer(store, comm.duplicate(), std::move(request), shared_mode_of(comm, "w", 0));
    if (comm.rank() == 1) writer.stream().write(content(1, 0, 30));
    comm.barrier();
    OverrunTask task{0};
    if (comm.rank() == 0) act(writer.stream(), task, {0, OverrunActKind::stream, 80});
    const auto closed = attempt([&] { writer.close(); });
    require(closed && std::string(closed->what())
                              .find("over 16 bytes of task 1 (block 0, from byte 0), which are lost") !=
                          std::string::npos,
            closed ? closed->what() : "a good close");
  });
  Reader reader(posix_store(), path, mode_of("r"));
  std::vector<std::byte> found(100);
  EXPECT_EQ(reader.stream().read(found), 80u);
  reader.select(1);
  EXPECT_EQ(code_of([&] { reader.stream().read(found); }), Code::damaged);
}

TEST_F(Overruns, BytesThatNobodyWritesOverAreKeptThroughTheirChecksums) {
  SharedHandles store(posix_store());
  run_fibers(fibers(2), [&](Comm& comm) {
    ParallelWriteRequest request;
    request.path = path;
    request.fsblksize = block;
    request.chunk_size = 64;
    Writer writer(store, comm.duplicate(), std::move(request), shared_mode_of(comm, "w", 0));
    OverrunTask task{0};
    if (comm.rank() == 0) act(writer.stream(), task, {0, OverrunActKind::stream, 80});
    if (comm.rank() == 0) act(writer.stream(), task, {0, OverrunActKind::learn, 0});
    comm.barrier();
    if (comm.rank() == 1) writer.stream().write(content(1, 0, 30));
    writer.close();
  });
  expect_good({{64, 64}, {{0, OverrunActKind::stream, 80}, {1, OverrunActKind::library, 30}}}, std::nullopt);
}

TEST_F(Overruns, OfATaskWithoutChunksFailTheClose) {
  const OverrunScript s{{0, 64}, {{0, OverrunActKind::stream, 10}, {1, OverrunActKind::stream, 0}}};
  const OverrunScript kept{{0, 64}, {{1, OverrunActKind::stream, 70}, {0, OverrunActKind::stream, 0}}};
  expect_loss(s, serially(s), {"task 0 wrote 10 bytes behind its chunk 0", "10 bytes are lost"});
  expect_loss(s, in_parallel(s), {"task 0 wrote", "are lost"});
  expect_loss(s, mapped(s), {"task 0 wrote", "are lost"});
  expect_good(kept, in_parallel(kept));
}

TEST_F(Overruns, ThatCannotBeMovedFailTheCallAndTheClose) {
  const OverrunScript s{
      {64, 64},
      {{0, OverrunActKind::stream, 100}, {0, OverrunActKind::learn}, {1, OverrunActKind::stream, 10}}};
  FaultyStore faulty(posix_store());
  FaultPlan plan;
  plan.kind = StoreOperation::write;
  faulty.set_plan(plan);
  std::optional<Error> call;
  {
    const std::vector<int64_t> ranks{0, 1};
    Writer writer(faulty, {path, s.chunks, ranks, block}, mode_of("w"));
    OverrunTask task{0};
    act(writer.stream(), task, s.acts[0]);
    plan.fail_at = 0;
    faulty.set_plan(plan);
    call = attempt([&] { writer.stream().flush(); });
    ASSERT_TRUE(call);
    EXPECT_NE(std::string(call->what()).find("36 bytes that the program wrote behind its chunk"),
              std::string::npos)
        << call->what();
    writer.stream().write(content(0, 100, 30));
    writer.select(1);
    writer.stream().write(content(1, 0, 10));
    expect_loss(s, attempt([&] { writer.close(); }),
                {"task 0 wrote 36 bytes behind its chunk 0", "and 36 bytes are lost"});
  }
  Reader reader(posix_store(), path, mode_of("r"));
  std::vector<std::byte> found(100);
  found.resize(reader.stream().read(found));
  auto wanted = content(0, 0, 64);
  std::ranges::copy(content(0, 100, 30), std::back_inserter(wanted));
  EXPECT_EQ(found, wanted);
}

TEST_F(Overruns, AreRecordedInTheJournal) {
  const std::vector<int64_t> ranks{0, 1}, chunks{64, 64};
  Writer writer(posix_store(), {path, chunks, ranks, block}, mode_of("w"));
  OverrunTask task{0};
  act(writer.stream(), task, {0, OverrunActKind::stream, 200});
  writer.commit();
  Reader reader(posix_store(), path, mode_of("r"));
  EXPECT_TRUE(reader.facts().unclosed);
  std::vector<std::byte> found(300);
  found.resize(reader.stream().read(found));
  EXPECT_EQ(found, content(0, 0, 200));
}

// A program seeks forward in its stream and writes no data there. The skipped bytes must not count as
// written.
TEST_F(Overruns, NothingIsTakenInThatWasNotWritten) {
  const std::vector<int64_t> ranks{0}, chunks{64};
  Writer writer(posix_store(), {path, chunks, ranks, block}, mode_of("w"));
  OverrunTask task{0};
  act(writer.stream(), task, {0, OverrunActKind::stream, 40});
  ASSERT_EQ(std::fseek(writer.stream().chunks().handle()->stream(), 1L << 40, SEEK_CUR), 0);
  writer.stream().flush();
  EXPECT_EQ(writer.stream().bytes_written(), 64);
  EXPECT_FALSE(writer.stream().chunks().take_overrun());
  writer.close();
}

OverrunScript random_script(uint64_t seed) {
  Random random(seed);
  OverrunScript s;
  const int64_t n = 1 + random.below(4);
  for (int64_t t = 0; t < n; ++t) s.chunks.push_back(64 * random.pick<int64_t>({0, 1, 1, 2, 3}));
  for (int64_t k = 1 + random.below(8); k > 0; --k) {
    const int task = static_cast<int>(random.below(n));
    const auto kind = static_cast<OverrunActKind>(random.below(4));
    const bool chunkless = s.chunks[static_cast<size_t>(task)] == 0;
    s.acts.push_back({task, kind,
                      kind == OverrunActKind::learn || chunkless
                          ? 0
                          : random.pick<int64_t>({1, 30, 64, 65, 100, random.below(500)})});
  }
  s.words = random.pick<std::string>({"w", "w,checksums=off", "w,journal=off"});
  return s;
}

TEST_F(Overruns, RandomPrograms) {
  int good = 0, bad = 0, alarms = 0;
  for (uint64_t seed = 1; seed <= 250; ++seed) {
    const OverrunScript s = random_script(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    // One process knows all writes, so a close may fail only if data was lost.
    const auto closed = serially(s);
    EXPECT_EQ(!closed, all_there(s)) << (closed ? closed->what() : "");
    for (const bool as_mapped : {false, true}) {
      const auto outcome = as_mapped ? mapped(s, seed) : in_parallel(s, 1, seed);
      const bool there = all_there(s);
      EXPECT_TRUE(outcome || there) << "a good close, and bytes are missing"
                                    << (as_mapped ? " (mapped)" : "");
      (outcome ? bad : good) += 1;
      alarms += outcome && there;
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(good, 100);
  EXPECT_GT(bad, 50);
  EXPECT_LT(alarms, bad / 4) << "closes that fail although nothing is missing";
}

TEST_F(Overruns, InASetOfFiles) {
  const OverrunScript moved{{64, 64, 64, 64},
                            {{1, OverrunActKind::stream, 100}, {2, OverrunActKind::stream, 90}}};
  expect_good(moved, in_parallel(moved, 2));
  const OverrunScript lost{
      {64, 64, 64, 64},
      {{3, OverrunActKind::library, 10}, {2, OverrunActKind::stream, 90}, {1, OverrunActKind::stream, 30}}};
  expect_loss(lost, in_parallel(lost, 2), {"task 2 wrote 26 bytes behind its chunk 0", "of task 3"});
}

}  // namespace
}  // namespace sheaf::test::overruns_test
