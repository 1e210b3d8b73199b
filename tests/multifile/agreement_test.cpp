// Collective opens that must fail. Every task must get the same outcome, no task may hang, and the disk must
// stay unchanged.
#include <gtest/gtest.h>

#include "support/processors_comm.hpp"
#include "support/programs.hpp"

namespace sheaf::test::agreement_test {

using namespace multifile;

namespace {

constexpr int tasks = 5;

// Returns the code with which `call` ended on each task.
std::vector<Code> codes_of(const std::function<void(Comm&)>& call, int ranks = tasks) {
  std::vector<Code> codes(static_cast<size_t>(ranks), Code::ok);
  run_fibers(fibers(ranks, 7),
             [&](Comm& comm) { codes[static_cast<size_t>(comm.rank())] = code_of([&] { call(comm); }); });
  return codes;
}

std::vector<Code> all(Code code, int ranks = tasks) {
  return std::vector<Code>(static_cast<size_t>(ranks), code);
}

Program small(int nfiles = 1, int ntasks = tasks) {
  Program p;
  p.nfiles = nfiles;
  p.fsblksize = 64;
  for (int t = 0; t < ntasks; ++t) {
    p.requests.push_back(100);
    p.steps.push_back({{Step::write, 90 + t}, {Step::write, 100}});
  }
  return p;
}

struct AgreedCall {
  std::string path = "a";
  std::string mode = "w";
  int64_t nfiles = 1;
  int64_t block = -1;
};

std::vector<Code> codes_of_calls(const std::function<void(AgreedCall&)>& change, int changed) {
  return codes_of([&](Comm& comm) {
    AgreedCall call;
    if (comm.rank() == changed) change(call);
    const int64_t same[] = {call.nfiles, call.block};
    agree_on_call(comm, call.path, call.mode, same, std::nullopt);
  });
}

TEST(Agreement, ADifferentArgumentOnOneTaskIsAMismatchOnAll) {
  for (const int one : {0, 2, tasks - 1}) {
    EXPECT_EQ(codes_of_calls([](AgreedCall&) {}, one), all(Code::ok));
    EXPECT_EQ(codes_of_calls([](AgreedCall& c) { c.path = "b"; }, one), all(Code::mismatch));
    EXPECT_EQ(codes_of_calls([](AgreedCall& c) { c.mode = "wb"; }, one), all(Code::mismatch));
    EXPECT_EQ(codes_of_calls([](AgreedCall& c) { c.mode = "r"; }, one), all(Code::mismatch));
    EXPECT_EQ(codes_of_calls([](AgreedCall& c) { c.nfiles = 2; }, one), all(Code::mismatch));
    EXPECT_EQ(codes_of_calls([](AgreedCall& c) { c.nfiles = INT64_MIN; }, one), all(Code::mismatch));
    EXPECT_EQ(codes_of_calls([](AgreedCall& c) { c.block = 4096; }, one), all(Code::mismatch));
  }
}

TEST(Agreement, ABadModeOnOneTaskFailsOnAll) {
  for (const int one : {0, 3}) {
    EXPECT_EQ(codes_of_calls([](AgreedCall& c) { c.mode = ""; }, one), all(Code::invalid_argument));
    EXPECT_EQ(codes_of_calls([](AgreedCall& c) { c.mode = "w,keyval=meta"; }, one),
              all(Code::invalid_argument));
  }
}

TEST(Agreement, TheMessageNamesTheTaskThatFailed) {
  run_fibers(fibers(tasks), [&](Comm& comm) {
    const std::optional<Error> mine =
        comm.rank() == 3 ? std::optional(Error(Code::no_space, "disk is full", ENOSPC)) : std::nullopt;
    const auto error = attempt([&] { agree_on_call(comm, "a", "w", {}, mine); });
    require(error && error->code() == Code::no_space && error->errno_value() == ENOSPC, "code");
    require(error->what() == std::string(comm.rank() == 3 ? "disk is full" : "task 3: disk is full"),
            error->what());
  });
}

// Opens `p` for writing through a store that holds an inconsistent set, "a" and "a.000001". Returns the codes
// of the tasks. Requires that both files keep their bytes.
std::vector<Code> codes_of_refused_open(const Program& p,
                                        const std::function<void(ParallelWriteRequest&, Comm&)>& change,
                                        const std::string& words = "w") {
  MemoryStore store;
  auto old = content(77, 0, 5000);
  std::ranges::copy(std::as_bytes(std::span("sion", 4)), old.begin());
  store.set_contents("a", old);
  store.set_contents("a.000001", old);
  SharedHandles shared(store);
  const auto codes = codes_of(
      [&](Comm& comm) {
        ParallelWriteRequest request = request_of("a", p, comm);
        change(request, comm);
        Writer writer(shared, comm.duplicate(), std::move(request), mode_of(words));
      },
      p.ntasks());
  EXPECT_EQ(store.contents("a"), old);
  EXPECT_EQ(store.contents("a.000001"), old);
  EXPECT_EQ(store.paths(), (std::vector<std::string>{"a", "a.000001"}));
  EXPECT_EQ(shared.open_files(), 0u);
  return codes;
}

TEST(Agreement, MoreFilesThanTasksAreRefused) {
  EXPECT_EQ(codes_of_refused_open(small(6), [](auto&, auto&) {}), all(Code::invalid_argument));
  EXPECT_EQ(codes_of_refused_open(
                small(), [](auto&, auto&) {}, "w,files=6"),
            all(Code::invalid_argument));
}

TEST(Agreement, AChunkTooLargeOnOneTaskIsRefused) {
  for (const int files : {1, 2})
    EXPECT_EQ(codes_of_refused_open(small(files),
                                    [](auto& r, Comm& comm) {
                                      if (comm.rank() == 3) r.chunk_size = INT64_MAX - 5;
                                    }),
              all(Code::invalid_argument));
}

TEST(Agreement, ANegativeChunkSizeOnOneTaskIsRefused) {
  EXPECT_EQ(codes_of_refused_open(small(),
                                  [](auto& r, Comm& comm) {
                                    if (comm.rank() == 1) r.chunk_size = -1;
                                  }),
            all(Code::invalid_argument));
}

TEST(Agreement, ALocalGroupOnSomeTasksOnlyIsAMismatch) {
  EXPECT_EQ(codes_of_refused_open(small(0),
                                  [](auto& r, Comm& comm) {
                                    if (comm.rank() == 2) r.local.reset();
                                  }),
            all(Code::mismatch));
}

TEST(Agreement, ADirectoryInPlaceOfOneFileIsRefused) {
  for (const char* directory : {"d", "d.000001", "d.000002"}) {
    MemoryStore store;
    store.add_directory(directory);
    SharedHandles shared(store);
    const Program p = small(3);
    const auto codes = codes_of(
        [&](Comm& comm) { Writer writer(shared, comm.duplicate(), request_of("d", p, comm), mode_of("w")); });
    EXPECT_EQ(codes, all(codes[0]));
    EXPECT_NE(codes[0], Code::ok);
    EXPECT_TRUE(store.paths().empty()) << directory << " left " << store.paths()[0];
  }
}

TEST(Agreement, NewChunkSizesAfterAWriteOnOneTaskAreRefusedOnAll) {
  MemoryStore store;
  SharedHandles shared(store);
  const Program p = small();
  const auto codes = codes_of([&](Comm& comm) {
    Writer writer(shared, comm.duplicate(), request_of("a", p, comm), shared_mode_of(comm, "w"));
    require(code_of([&] { writer.resize_chunks(comm.rank() == 1 ? -5 : 10); }) == Code::invalid_argument,
            "negative");
    if (comm.rank() == 4) writer.stream().write(content(4, 0, 1));
    const Code code = code_of([&] { writer.resize_chunks(500); });
    require(writer.stream().geometry().size == 128, "chunk size kept");
    writer.close();
    if (code != Code::ok) throw Error(code, "");
  });
  EXPECT_EQ(codes, all(Code::wrong_mode));
  EXPECT_EQ(Reader(store, "a", mode_of("r")).multifile().row(4).sizes.total(), 1);
}

TEST(Writing, NewChunkSizesBeforeTheFirstByte) {
  for (const int files : {1, 2, 0}) {
    Program p = small(files);
    MemoryStore store;
    SharedHandles shared(store);
    for (int t = 0; t < tasks; ++t) p.requests[static_cast<size_t>(t)] = 1000 * t;
    p.steps[0].clear();
    run_fibers(fibers(tasks), [&](Comm& comm) {
      const auto me = static_cast<size_t>(comm.rank());
      ParallelWriteRequest request = request_of("a", p, comm);
      request.chunk_size = 10;
      Writer writer(shared, comm.duplicate(), std::move(request), shared_mode_of(comm, "w"));
      writer.resize_chunks(p.requests[me]);
      Writing task(comm.rank(), p.chunk(comm.rank()));
      for (const Step& step : p.steps[me]) task.step(writer.stream(), step);
      writer.close();
    });
    check_every_way(store, "a", p);
  }
}

TEST(Writing, FilesPerNodeAndAutomatic) {
  for (const char* words : {"w,files=node", "w,files=auto", "w,files=3"}) {
    Program p = small();
    MemoryStore store;
    SharedHandles shared(store);
    FiberOptions options = fibers(tasks);
    options.ranks_per_node = 2;
    run_fibers(options, [&](Comm& comm) { write_as_task(shared, "a", p, comm, words); });
    check_every_way(store, "a", p);
    const auto files = std::ssize(store.paths());
    EXPECT_TRUE(files == 3 || words == std::string("w,files=auto")) << words << ": " << files;
  }
}

TEST(Writing, AutomaticFilesOfHostsWithDifferentProcessors) {
  constexpr int tasks_of_a_host = 12;
  const Program p = small(1, 2 * tasks_of_a_host);
  MemoryStore store;
  SharedHandles shared(store);
  FiberOptions options = fibers(p.ntasks());
  options.ranks_per_node = tasks_of_a_host;
  run_fibers(options, [&](Comm& comm) {
    ProcessorsComm host(comm.duplicate(), 1 + comm.rank() / tasks_of_a_host);
    write_as_task(shared, "a", p, host, "w,files=auto");
  });
  check_every_way(store, "a", p);
  EXPECT_EQ(std::ssize(store.paths()), 16);  // four per processor of the second host, on both
}

TEST(Writing, ReplacesALongerFileWhole) {
  MemoryStore store;
  store.set_contents("a", content(1, 0, 100'000));
  const Program p = small();
  write_in_parallel(store, "a", p);
  EXPECT_LT(store.contents("a").size(), 100'000u);
  check_every_way(store, "a", p);
  store.set_contents("a", content(1, 0, 100'000));
  write_serially(store, "a", p);
  EXPECT_LT(store.contents("a").size(), 100'000u);
  check_every_way(store, "a", p);
}

std::vector<Code> codes_of_reading(Store& store, const std::string& path, int ranks = tasks) {
  SharedHandles shared(store);
  const auto codes =
      codes_of([&](Comm& comm) { Reader reader(shared, comm.duplicate(), path, mode_of("r")); }, ranks);
  EXPECT_EQ(shared.open_files(), 0u);
  return codes;
}

TEST(Agreement, AMissingFileIsNotFoundOnAll) {
  MemoryStore store;
  EXPECT_EQ(codes_of_reading(store, "a"), all(Code::not_found));
  EXPECT_TRUE(store.paths().empty());
}

TEST(Agreement, AnotherNumberOfTasksIsRefusedOnAll) {
  for (const int files : {1, 2}) {
    MemoryStore store;
    write_in_parallel(store, "a", small(files));
    for (const int ranks : {1, tasks - 1, tasks + 1, 2 * tasks})
      EXPECT_EQ(codes_of_reading(store, "a", ranks), all(Code::out_of_range, ranks));
    EXPECT_EQ(codes_of_reading(store, "a"), all(Code::ok));
  }
}

TEST(Agreement, AMissingPhysicalFileIsNotFoundOnAll) {
  for (const char* missing : {"a.000001", "a.000002"}) {
    MemoryStore store;
    write_in_parallel(store, "a", small(3));
    store.remove(missing);
    EXPECT_EQ(codes_of_reading(store, "a"), all(Code::not_found));
    EXPECT_EQ(code_of([&] { Reader(store, "a", mode_of("r")); }), Code::not_found);
  }
}

TEST(Agreement, AnUnclosedPhysicalFileIsUnclosedOnAll) {
  for (const char* unclosed : {"a", "a.000001"}) {
    MemoryStore store;
    write_in_parallel(store, "a", small(2), 0, "w,journal=off");
    auto bytes = store.contents(unclosed);
    const size_t n = unclosed == std::string("a") ? 2 : 3;
    std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(1076 + 16 * n), 12, std::byte{0});
    store.set_contents(unclosed, bytes);
    EXPECT_EQ(codes_of_reading(store, "a"), all(Code::unclosed));
    EXPECT_EQ(code_of([&] { Reader(store, "a", mode_of("r")); }), Code::unclosed);
  }
}

// Physical file k of a set can be opened as a multifile of its own.
TEST(Reading, OnePhysicalFileOfASet) {
  MemoryStore store;
  const Program p = small(2);
  write_in_parallel(store, "a", p);
  SharedHandles shared(store);
  run_fibers(fibers(3), [&](Comm& comm) {
    Reader reader(shared, comm.duplicate(), "a.000001", mode_of("r"));
    check_stream(reader.stream(), p.expected(comm.rank() + 2), comm.rank() + 2);
    reader.close();
  });
  Reader serial(store, "a.000001", mode_of("r"));
  EXPECT_EQ(serial.ntasks(), 3);
}

TEST(Reading, ASetRenamedAsAWhole) {
  MemoryStore store;
  const Program p = small(2);
  write_in_parallel(store, "a", p);
  store.rename("a", "b");
  store.rename("a.000001", "b.000001");
  check_every_way(store, "b", p);
}

TEST(Reading, OnlyTheOwnTaskCanBeSelected) {
  MemoryStore store;
  write_in_parallel(store, "a", small());
  SharedHandles shared(store);
  run_fibers(fibers(tasks), [&](Comm& comm) {
    Reader reader(shared, comm.duplicate(), "a", mode_of("r"));
    for (int t = -1; t <= tasks; ++t)
      require((code_of([&] { reader.select(t); }) == Code::ok) == (t == comm.rank()), "select");
    reader.close();
  });
  for (const int64_t task : {int64_t{-1}, int64_t{tasks}, INT64_MAX, INT64_MIN})
    EXPECT_EQ(code_of([&] { Reader(store, "a", task, mode_of("r")); }), Code::out_of_range);
}

}  // namespace
}  // namespace sheaf::test::agreement_test
