// Random programs of collective calls, written by fibers, read back in every way and compared with the model.
#include <gtest/gtest.h>

#include "storage/faulty_store.hpp"
#include "support/collective_programs.hpp"

namespace sheaf::test {
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

// Small requests: one file is opened by one task per group, and gets few, large writes.
TEST(Collective, OnlyCollectorsTouchTheFile) {
  for (const int64_t bytes : {100, 300'000}) {  // held back, and at once
    CollectiveProgram p = simple(64, bytes, 10, bytes, 16);
    MemoryStore memory;
    FaultyStore counting(memory);
    run_fibers(fibers(64), [&](Comm& comm) {
      ParallelWriter writer(counting, comm.duplicate(), request_of("a", p, comm.rank()), mode_of("w," + p.words()));
      write_calls(writer, p);
      writer.close();
    });
    EXPECT_EQ(counting.operations(Operation::open), 4);
    check_program(memory, "a", p);
  }
}

TEST(Collective, RoundsAreFew) {
  CollectiveProgram p = simple(64, 4096, 1000, 4096);
  p.fsblksize = 64 * 4096;  // one group
  MemoryStore memory;
  FaultyStore counting(memory);
  int64_t collectives = 0;
  run_fibers(fibers(64), [&](Comm& comm) {
    ParallelWriter writer(counting, comm.duplicate(), request_of("a", p, comm.rank()), mode_of("w," + p.words()));
    const int64_t before = comm.traffic().collectives;
    write_calls(writer, p);
    if (comm.rank() == 0) collectives = comm.traffic().collectives - before;
    writer.close();
  });
  EXPECT_LE(collectives, 2 * 17 + 2);  // two for every 63 calls
  EXPECT_LE(counting.operations(Operation::write), 40);
  check_program(memory, "a", p);
}

// A task alone writes between the calls, more than anybody holds for it.
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
  SharedHandles shared(store);
  run_fibers(fibers(3), [&](Comm& comm) {
    ParallelWriter writer(shared, comm.duplicate(), request_of("a", p, comm.rank()), mode_of("w," + p.words()));
    write_calls(writer, p);
    const auto place = static_cast<size_t>(writer.stream().geometry().offset(0));
    writer.collective()->flush();
    const auto bytes = store.contents("a");
    require(bytes.size() >= place + 400, "flushed bytes are in the file");
    require(std::equal(bytes.begin() + static_cast<ptrdiff_t>(place), bytes.begin() + static_cast<ptrdiff_t>(place) + 400,
                       content(comm.rank(), 0, 400).begin()), "flushed bytes are right");
    writer.close();
  });
  check_program(store, "a", p);
}

TEST(Collective, NewChunkSizesFormNewGroups) {
  CollectiveProgram p = simple(6, 200, 3, 150, 3);
  p.fsblksize = 256;
  MemoryStore store;
  SharedHandles shared(store);
  run_fibers(fibers(6), [&](Comm& comm) {
    auto request = request_of("a", p, comm.rank());
    request.chunk_size = 7000 * (comm.rank() + 1);
    ParallelWriter writer(shared, comm.duplicate(), std::move(request), mode_of("w," + p.words()));
    writer.resize_chunks(200);
    write_calls(writer, p);
    writer.close();
  });
  check_program(store, "a", p);
}

// The numbers of docs/format.md: with 4 tasks, 2 per collector, the streams belong to tasks 0 2 1 3.
TEST(Collective, RenumberedTasks) {
  for (const int nfiles : {1, 2}) {
    const int tasks = 4 * nfiles;
    MemoryStore store;
    SharedHandles shared(store);
    run_fibers(fibers(tasks), [&](Comm& comm) {
      ParallelWriteRequest request;
      request.path = "a";
      request.nfiles = nfiles;
      request.fsblksize = 64;
      request.chunk_size = 50;
      ParallelWriter writer(shared, comm.duplicate(), std::move(request), mode_of("w,collmsa,collective=2"));
      require(writer.stream().geometry().size == (writer.local().rank() % 2 == 0 ? 50 : 78), "chunk size");
      for (int call = 0; call < 3; ++call) writer.collective()->write(content(comm.rank(), 40 * call, 40), std::nullopt);
      writer.close();
    });
    SerialReader all(store, "a", mode_of("r"));
    if (nfiles == 1) {
      for (const auto& [stream, owner] : {std::pair{0, 0}, {1, 2}, {2, 1}, {3, 3}})
        EXPECT_EQ(all.multifile().globalrank(stream), owner);
    }
    run_fibers(fibers(tasks), [&](Comm& comm) {
      ParallelReader reader(shared, comm.duplicate(), "a", mode_of(nfiles == 1 ? "r,collmsa,collective=2" : "r"));
      std::vector<std::byte> found(120);
      require(reader.stream().read(found) == 120 && found == content(comm.rank(), 0, 120), "bytes");
      reader.close();
    });
  }
  MemoryStore store;
  for (const char* const words : {"w,collmsa", "w,collmsa,collective=1", "w,collmsa,collective=3"})
    EXPECT_THROW(run_fibers(fibers(4), [&](Comm& comm) {
      ParallelWriteRequest request;
      request.path = "a";
      ParallelWriter(store, comm.duplicate(), std::move(request), mode_of(words));
    }), Error) << words;
}

TEST(Collective, ATaskWithBadArgumentsHoldsNobodyUp) {
  for (const int64_t bytes : {200'000, 50}) {
    MemoryStore store;
    SharedHandles shared(store);
    std::vector<Code> codes(4);
    const CollectiveProgram p = simple(4, 1 << 20, 0, 0, 4);
    run_fibers(fibers(4), [&](Comm& comm) {
      ParallelWriter writer(shared, comm.duplicate(), request_of("a", p, comm.rank()), mode_of("w," + p.words()));
      const std::optional<Error> mine = comm.rank() == 2 ? std::optional(Error(Code::invalid_argument, "bad")) : std::nullopt;
      writer.collective()->write({}, std::nullopt);
      codes[static_cast<size_t>(comm.rank())] =
          code_of([&] { writer.collective()->write(content(comm.rank(), 0, bytes), mine); });
      if (bytes > 100'000 || comm.rank() == 2) require(writer.stream().bytes_written() == 0, "nothing is written");
      writer.close();
    });
    EXPECT_EQ(codes[2], Code::invalid_argument);
  }
}

}  // namespace
}  // namespace sheaf::test
