// Random programs of collective calls. Fibers write them; every kind of reader reads them back, and the test
// compares the data with the model.
#include <gtest/gtest.h>

#include <set>

#include "support/collective_programs.hpp"
#include "support/stores/faulty_store.hpp"

namespace sheaf::test::collective_test {

using namespace multifile;

namespace {

TEST(Collective, RandomPrograms) {
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    const CollectiveProgram p = random_collective_program(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + p.describe());
    MemoryStore store;
    ASSERT_NO_THROW({
      write_program(store, "a", p, seed % 3 == 0 ? 0 : seed);
      check_program(store, "a", p);
      read_program(store, "a", p, seed);
    });
  }
}

// Only one task per group may open the file, and it must issue few, large writes. If rounds complete chunks,
// the same tasks open the journal, which the first task creates.
TEST(Collective, OnlyCollectorsTouchTheFile) {
  for (const int64_t bytes : {100, 300'000}) {  // buffered until the close, and written at once
    CollectiveProgram p = simple(64, bytes, 10, bytes, 16);
    MemoryStore memory;
    FaultyStore counting(memory);
    run_fibers(fibers(64), [&](Comm& comm) {
      Writer writer(counting, comm.duplicate(), request_of("a", p, comm.rank()),
                    shared_mode_of(comm, "w," + p.words()));
      write_calls(writer, p);
      writer.close();
    });
    // Each collector opens the file, and the close looks for a journal. If there is one, its common header is
    // opened, and each of the four hosts looks up and creates its journal. The close then looks up a journal
    // for each possible host.
    EXPECT_EQ(counting.operations(StoreOperation::open), 4 + 1 + (bytes == 100 ? 0 : 5 + 4 * 2 + 64));
    check_program(memory, "a", p);
  }
}

// Few tasks with little data share one collector. The layout must be the one of groups with a collector each.
TEST(Collective, OneCollectsForTheGroupsOfFewTasksWithLittle) {
  struct CollectorsCase {
    int tasks;
    int64_t bytes;
    int collectors;
  };
  for (const CollectorsCase& c :
       {CollectorsCase{4, 4096, 1}, CollectorsCase{15, 100, 1}, CollectorsCase{4, 60'000, 1},
        CollectorsCase{4, 70'000, 4}, CollectorsCase{16, 4096, 4}})
    for (const bool chosen : {false, true}) {
      SCOPED_TRACE(std::to_string(c.tasks) + " tasks, " + std::to_string(c.bytes) + " bytes" +
                   (chosen ? ", groups by hand" : ""));
      CollectiveProgram p = simple(c.tasks, c.bytes, 1, c.bytes, chosen ? (c.tasks < 16 ? 1 : 4) : 0);
      p.fsblksize = 64;
      const int groups = c.tasks < 16 ? c.tasks : 4;
      MemoryStore memory;
      FaultyStore counting(memory);
      run_fibers(fibers(c.tasks), [&](Comm& comm) {
        Writer writer(counting, comm.duplicate(), request_of("a", p, comm.rank()),
                      shared_mode_of(comm, "w,journal=off," + p.words()));
        write_calls(writer, p);
        writer.close();
      });
      EXPECT_EQ(counting.operations(StoreOperation::open), chosen ? groups : c.collectors);
      EXPECT_NO_THROW(check_program(memory, "a", p));
      std::set<int64_t> begun;  // every group begins a block
      Reader all(memory, "a", mode_of("r"));
      for (int t = 0; t < c.tasks; ++t)
        if (p.collector(t) == t) begun.insert(all.multifile().row(t).geometry.offset(0) % p.fsblksize);
      EXPECT_EQ(begun, std::set<int64_t>{0});
    }
}

// The program dies without a flush. Readers must still find the chunks that rounds have completed.
TEST(Collective, CompleteChunksAreRecordedByTheCollector) {
  constexpr int tasks = 6, bytes = 2000, chunk = 3 * bytes;
  MemoryStore memory;
  FaultyStore counting(memory);
  int64_t written = 0, rounds_seen = 0, safe = 0;
  EXPECT_ANY_THROW(run_fibers(fibers(tasks), [&](Comm& comm) {
    const CollectiveProgram p = simple(tasks, chunk, 0, 0, 3);
    Writer writer(counting, comm.duplicate(), request_of("a", p, comm.rank()),
                  shared_mode_of(comm, "w," + p.words()));
    const int64_t chunk_size = writer.stream().geometry().size;
    comm.barrier();
    for (int call = 0; call < 400; ++call) {
      const int64_t before = traffic_of_this_task().collectives;
      writer.collective()->write(content(comm.rank(), call * bytes, bytes), std::nullopt);
      if (comm.rank() > 0) continue;
      written += bytes;
      // In the second round all tasks learn that the first one succeeded.
      if (traffic_of_this_task().collectives > before && ++rounds_seen == 1)
        safe = (written - bytes) / chunk_size * chunk_size;
    }
    comm.barrier();
    throw Error(Code::io, "the program dies");
  }));
  EXPECT_GE(rounds_seen, 2);
  EXPECT_GE(safe, 10 * chunk);
  // Each collector opens the file, opens the common journal header (one collector also creates it), and looks
  // up and creates its own journal.
  EXPECT_EQ(counting.operations(StoreOperation::open), 2 + 3 + 4);
  Reader found(memory, "a", mode_of("r"));
  EXPECT_TRUE(found.facts().unclosed);
  for (int t = 0; t < tasks; ++t) {
    found.select(t);
    std::vector<std::byte> stream(static_cast<size_t>(written) + 1);
    stream.resize(found.stream().read(stream));
    EXPECT_GE(std::ssize(stream), safe) << "task " << t;
    EXPECT_EQ(stream, content(t, 0, std::ssize(stream)));
  }
}

TEST(Collective, RoundsAreFew) {
  CollectiveProgram p = simple(64, 4096, 1000, 4096);
  p.fsblksize = 64 * 4096;  // one group
  MemoryStore memory;
  FaultyStore counting(memory);
  int64_t collectives = 0;
  run_fibers(fibers(64), [&](Comm& comm) {
    Writer writer(counting, comm.duplicate(), request_of("a", p, comm.rank()),
                  shared_mode_of(comm, "w," + p.words()));
    const int64_t before = traffic_of_this_task().collectives;
    write_calls(writer, p);
    if (comm.rank() == 0) collectives = traffic_of_this_task().collectives - before;
    writer.close();
  });
  EXPECT_LE(collectives,
            4 * 17 + 2);  // per 63 calls: one reduction, places, bytes and completed chunks
  EXPECT_LE(counting.operations(StoreOperation::write), 60);
  check_program(memory, "a", p);
}

// Between the collective calls, one task independently writes more than any collector buffers.
TEST(Collective, OneTaskWritesALotOnItsOwn) {
  CollectiveProgram p = simple(5, 5000, 20, 700, 5);
  for (auto& call : p.calls) call.alone[3] = 400'000;
  MemoryStore store;
  write_program(store, "a", p, 7);
  check_program(store, "a", p);
}

TEST(Collective, FlushBringsTheOwnBytesIntoTheFile) {
  const CollectiveProgram p = simple(3, 512, 4, 100, 3);
  MemoryStore store;
  TaskHandles shared(store);
  run_fibers(fibers(3), [&](Comm& comm) {
    Writer writer(shared, comm.duplicate(), request_of("a", p, comm.rank()),
                  shared_mode_of(comm, "w," + p.words()));
    write_calls(writer, p);
    const auto place = static_cast<size_t>(writer.stream().geometry().offset(0));
    writer.collective()->flush();
    const auto bytes = store.contents("a");
    require(bytes.size() >= place + 400, "flushed bytes are in the file");
    require(
        std::equal(bytes.begin() + static_cast<ptrdiff_t>(place),
                   bytes.begin() + static_cast<ptrdiff_t>(place) + 400, content(comm.rank(), 0, 400).begin()),
        "flushed bytes are right");
    writer.close();
  });
  check_program(store, "a", p);
}

TEST(Collective, NewChunkSizesFormNewGroups) {
  CollectiveProgram p = simple(6, 200, 3, 150, 3);
  p.fsblksize = 256;
  MemoryStore store;
  TaskHandles shared(store);
  run_fibers(fibers(6), [&](Comm& comm) {
    auto request = request_of("a", p, comm.rank());
    request.chunk_size = 7000 * (comm.rank() + 1);
    Writer writer(shared, comm.duplicate(), std::move(request), shared_mode_of(comm, "w," + p.words()));
    writer.resize_chunks(200);
    write_calls(writer, p);
    writer.close();
  });
  check_program(store, "a", p);
}

// If the data of one group fits in a block of the file system, it must share that block with header and
// tables, unless the program requests another layout.
TEST(Collective, SmallFilesOfOneCollectorAreLaidOutForPages) {
  constexpr int64_t block = 2 << 20;
  const auto laid_out_for = [&](int32_t asked, int64_t request, bool merge) {
    CollectiveProgram p = simple(64, request, 3, request);
    p.merge = merge;
    MemoryStore store(block);
    TaskHandles shared(store);
    int32_t used = 0;
    run_fibers(fibers(64), [&](Comm& comm) {
      auto arguments = request_of("a", p, comm.rank());
      arguments.fsblksize = asked;
      Writer writer(shared, comm.duplicate(), std::move(arguments), shared_mode_of(comm, "w," + p.words()));
      if (comm.rank() == 0) used = writer.facts().fsblksize;
      write_calls(writer, p);
      writer.close();
    });
    p.fsblksize = used;
    if (asked < 0 && used < block) p.collsize = 64;  // one group, which blocks of 4096 bytes would not form
    check_program(store, "a", p);
    return used;
  };
  EXPECT_EQ(laid_out_for(-1, 4096, false), 4096);
  EXPECT_EQ(laid_out_for(-1, 4096, true), 4096);
  EXPECT_EQ(laid_out_for(-1, 100, false), 4096);
  EXPECT_EQ(laid_out_for(-1, 0, false), 4096);
  EXPECT_EQ(laid_out_for(-1, block / 64, false), 4096);
  EXPECT_EQ(laid_out_for(block, 4096, false), block);
  EXPECT_EQ(laid_out_for(512, 100, false), 512);
  EXPECT_EQ(laid_out_for(-1, block / 64 + 1, false), block) << "several groups";
}

TEST(Collective, NewChunkSizesAreLaidOutForTheFileSystemAgain) {
  MemoryStore store(64 << 10);
  CollectiveProgram p = simple(16, 20'000, 2, 20'000);
  p.fsblksize = 64 << 10;
  run_fibers(fibers(16), [&](Comm& comm) {
    auto arguments = request_of("a", p, comm.rank());
    arguments.fsblksize = -1;
    arguments.chunk_size = 100;
    Writer writer(store, comm.duplicate(), std::move(arguments), shared_mode_of(comm, "w,collective"));
    require(writer.facts().fsblksize == 4096, "small");
    writer.resize_chunks(20'000);
    require(writer.facts().fsblksize == 64 << 10, "large");
    write_calls(writer, p);
    writer.close();
  });
  check_program(store, "a", p);
}

// Tests the numbers of docs/format.md: with 4 tasks, 2 per collector, the streams must belong to tasks 0 2 1
// 3.
TEST(Collective, RenumberedTasks) {
  for (const int nfiles : {1, 2}) {
    const int tasks = 4 * nfiles;
    MemoryStore store;
    TaskHandles shared(store);
    run_fibers(fibers(tasks), [&](Comm& comm) {
      ParallelWriteRequest request;
      request.path = "a";
      request.nfiles = nfiles;
      request.fsblksize = 64;
      request.chunk_size = 50;
      Writer writer(shared, comm.duplicate(), std::move(request),
                    shared_mode_of(comm, "w,collmsa,collective=2"));
      require(writer.stream().geometry().size == (writer.local().rank() % 2 == 0 ? 50 : 78), "chunk size");
      for (int call = 0; call < 3; ++call)
        writer.collective()->write(content(comm.rank(), 40 * call, 40), std::nullopt);
      writer.close();
    });
    Reader all(store, "a", mode_of("r"));
    if (nfiles == 1) {
      for (const auto& [stream, owner] : {std::pair{0, 0}, {1, 2}, {2, 1}, {3, 3}})
        EXPECT_EQ(all.multifile().row(stream).globalrank, owner);
    }
    run_fibers(fibers(tasks), [&](Comm& comm) {
      Reader reader(shared, comm.duplicate(), "a", mode_of(nfiles == 1 ? "r,collmsa,collective=2" : "r"));
      std::vector<std::byte> found(120);
      require(reader.stream().read(found) == 120 && found == content(comm.rank(), 0, 120), "bytes");
      reader.close();
    });
  }
  // Only tasks 2 and 3 may collect, so both are collectors. The senders follow in order.
  {
    MemoryStore store;
    TaskHandles shared(store);
    for (const bool writes : {true, false})
      run_fibers(fibers(4), [&](Comm& comm) {
        OpenMode mode = mode_of(std::string(writes ? "w" : "r") + ",collmsa,collective=2,collector-hosts=x");
        mode.collective.may_collect = comm.rank() >= 2;
        if (writes) {
          ParallelWriteRequest request;
          request.path = "a";
          request.chunk_size = 50;
          Writer writer(shared, comm.duplicate(), std::move(request), mode);
          const int places[] = {1, 3, 0, 2};
          require(writer.local().rank() == places[comm.rank()], "place");
          writer.collective()->write(content(comm.rank(), 0, 40), std::nullopt);
          writer.close();
        } else {
          Reader reader(shared, comm.duplicate(), "a", mode);
          std::vector<std::byte> found(40);
          require(reader.stream().read(found) == 40 && found == content(comm.rank(), 0, 40), "bytes");
          reader.close();
        }
      });
    EXPECT_THROW(run_fibers(fibers(4),
                            [&](Comm& comm) {
                              OpenMode mode = mode_of("w,collmsa,collective=2,collector-hosts=x");
                              mode.collective.may_collect = comm.rank() == 2;
                              ParallelWriteRequest request;
                              request.path = "b";
                              Writer(shared, comm.duplicate(), std::move(request), mode);
                            }),
                 Error)
        << "one candidate for two groups";
  }
  MemoryStore store;
  for (const char* const words : {"w,collmsa", "w,collmsa,collective=1", "w,collmsa,collective=3"})
    EXPECT_THROW(run_fibers(fibers(4),
                            [&](Comm& comm) {
                              ParallelWriteRequest request;
                              request.path = "a";
                              Writer(store, comm.duplicate(), std::move(request),
                                     shared_mode_of(comm, words));
                            }),
                 Error)
        << words;
}

TEST(Collective, ATaskWithBadArgumentsHoldsNobodyUp) {
  for (const int64_t bytes : {200'000, 50}) {
    MemoryStore store;
    TaskHandles shared(store);
    std::vector<Code> codes(4);
    const CollectiveProgram p = simple(4, 1 << 20, 0, 0, 4);
    run_fibers(fibers(4), [&](Comm& comm) {
      Writer writer(shared, comm.duplicate(), request_of("a", p, comm.rank()),
                    shared_mode_of(comm, "w," + p.words()));
      const std::optional<Error> mine =
          comm.rank() == 2 ? std::optional(Error(Code::invalid_argument, "bad")) : std::nullopt;
      writer.collective()->write({}, std::nullopt);
      codes[static_cast<size_t>(comm.rank())] =
          code_of([&] { writer.collective()->write(content(comm.rank(), 0, bytes), mine); });
      if (bytes > 100'000 || comm.rank() == 2)
        require(writer.stream().bytes_written() == 0, "nothing is written");
      writer.close();
    });
    EXPECT_EQ(codes[2], Code::invalid_argument);
  }
}

// If a call is no round, only the failing task gets the error at once. The other tasks must get it in the
// next round, which writes no data. Earlier data must not be lost.
TEST(Collective, WhatConcernsOneTaskOutsideOfARoundIsToldToAllInTheNext) {
  MemoryStore store;
  TaskHandles shared(store);
  CollectiveProgram p = simple(4, 1 << 20, 0, 0, 4);
  std::vector<int> failures(4);
  run_fibers(fibers(4), [&](Comm& comm) {
    Writer writer(shared, comm.duplicate(), request_of("a", p, comm.rank()),
                  shared_mode_of(comm, "w," + p.words()));
    int64_t done = 0;
    const auto write = [&](int64_t bytes, const std::optional<Error>& mine) {
      const Code code = code_of([&] { writer.collective()->write(content(comm.rank(), done, bytes), mine); });
      if (code == Code::ok) done += bytes;
      return code;
    };
    require(write(4000, std::nullopt) == Code::ok, "a round, after which one call in 65 is another");
    const bool bad = comm.rank() == 2;
    require(write(bad ? 0 : 4000, bad ? std::optional(Error(Code::invalid_argument, "bad")) : std::nullopt) ==
                (bad ? Code::invalid_argument : Code::ok),
            "bad arguments");
    for (int call = 0; call < 80; ++call) {
      const Code code = write(4000, std::nullopt);
      require(code == Code::ok || code == Code::invalid_argument, "code");
      int64_t failed = code != Code::ok;
      failures[static_cast<size_t>(comm.rank())] += static_cast<int>(failed);
      comm.all_sum(std::span(&failed, 1));
      require(failed == 0 || failed == 4, "all or none");
    }
    writer.close();
    Reader all(store, "a", mode_of("r"));
    all.select(comm.rank());
    std::vector<std::byte> found(static_cast<size_t>(done) + 1);
    found.resize(all.stream().read(found));
    require(found == content(comm.rank(), 0, done), "bytes");
  });
  EXPECT_EQ(failures, (std::vector<int>{1, 1, 1, 1}));
}

}  // namespace
}  // namespace sheaf::test::collective_test
