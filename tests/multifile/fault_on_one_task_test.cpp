// For every k, the k-th operation of one of several tasks fails, in every way to write and read a multifile.
// Collective calls must have one outcome on all tasks, no task may hang, and no task may read a wrong byte or
// leave one in a complete file.
#include "multifile/buddy/buddy.hpp"
#include "multifile/tools/verify.hpp"
#include "support/faults.hpp"
#include "support/mapped.hpp"

namespace sheaf::test::fault_on_one_task_test {

using namespace multifile;

namespace {

constexpr int tasks = 4;
constexpr int calls = 5;
const std::string compressed = ",compress=lz4,frame=1k,compress_threads=0";

int64_t piece_of(int64_t task) { return 100 + 250 * task; }  // bytes of a call
int64_t length_of(int64_t task) { return calls * piece_of(task); }

using Body = std::function<void(Comm&, Store&, Outcomes&)>;

// After a successful close, the file must hold all accepted data. Otherwise it must be readable, marked
// unclosed, or no multifile, and its data must be correct.
void check_written(MemoryStore& memory, const Outcomes& outcomes) {
  if (outcomes.succeeded("close")) return outcomes.accepted.expect_all_in(memory);
  EXPECT_TRUE(outcomes.any_failed());
  outcomes.accepted.expect_beginnings_in(memory, false, true);
}

// Makes one call. Its data follows the last data that was accepted.
template <class Write>
void write(Outcomes& outcomes, int me, Write&& write) {
  const auto data = content(me, std::ssize(outcomes.accepted.of(me)), piece_of(me));
  outcomes.own(me, [&] {
    write(std::span<const std::byte>(data));
    outcomes.accepted.accept(me, data);
  });
}

Body parallel_writing(const std::string& words, int nfiles, bool flushes) {
  return [=](Comm& comm, Store& store, Outcomes& outcomes) {
    const int me = comm.rank();
    std::optional<Writer> writer;
    const auto open = [&] {
      ParallelWriteRequest request;
      request.path = "a";
      request.nfiles = nfiles;
      request.fsblksize = 64;
      request.chunk_size = 600;
      writer.emplace(store, comm.duplicate(), std::move(request), shared_mode_of(comm, "w" + words, 300));
    };
    if (!outcomes.all(me, "open", open)) return;
    for (int call = 0; call < calls; ++call) {
      // If a collective call is no round, its task gets the failure first. The other tasks get it in the next
      // round.
      write(outcomes, me, [&](std::span<const std::byte> data) {
        writer->collective() ? writer->write_collectively(data, std::nullopt) : writer->stream().write(data);
      });
      if (flushes && call == 2) outcomes.own(me, [&] { writer->commit(); });
    }
    outcomes.all(me, "close", [&] { writer->close(); });
  };
}

Body mapped_writing(const std::string& words) {
  return [=](Comm& comm, Store& store, Outcomes& outcomes) {
    const int me = comm.rank();
    const std::vector<MappedWriteTask> mine{{me, 600, layout::place_blockwise(me, tasks, 2)}};
    std::optional<Writer> writer;
    if (!outcomes.all(me, "open", [&] {
          writer.emplace(store, comm.duplicate(), MappedWriteRequest{"a", 2, 64, mine},
                         shared_mode_of(comm, "w" + words, 300));
        }))
      return;
    for (int call = 0; call < calls; ++call)
      write(outcomes, me, [&](std::span<const std::byte> data) { writer->stream().write(data); });
    outcomes.all(me, "close", [&] { writer->close(); });
  };
}

Body appending(const std::string& words) {
  return [=](Comm& comm, Store& store, Outcomes& outcomes) {
    const int me = comm.rank();
    const std::vector<int64_t> mine{me};
    std::optional<Writer> writer;
    const auto open = [&] {
      writer.emplace(store, comm.duplicate(), MappedAppendRequest{{"a", false, mine}, 0},
                     mode_of("append" + words, 300));
    };
    if (!outcomes.all(me, "open", open)) return;
    outcomes.accepted.accept(me, content(me, 0, length_of(me)));
    for (int call = 0; call < calls; ++call)
      write(outcomes, me, [&](std::span<const std::byte> data) { writer->stream().write(data); });
    outcomes.all(me, "close", [&] { writer->close(); });
  };
}

// A failed open must leave the file unchanged.
void check_appended(MemoryStore& memory, const Outcomes& outcomes) {
  if (outcomes.succeeded("open")) return check_written(memory, outcomes);
  for (int64_t t = 0; t < tasks; ++t)
    EXPECT_EQ(streams_of(memory)[static_cast<size_t>(t)], content(t, 0, length_of(t)));
}

// If several hosts append to a file without a journal, the file counts as unclosed from the open on
// (docs/api-mapped.md).
void check_appended_plain(MemoryStore& memory, const Outcomes& outcomes) {
  const Code code = code_of([&] { streams_of(memory); });  // damaged if only half of a pointer was written
  if (tasks_of_host() > 0 && !outcomes.succeeded("open") && (code == Code::unclosed || code == Code::damaged))
    return;
  check_appended(memory, outcomes);
}

template <class Reader>
void read_stream(Reader& reader, Outcomes& outcomes, int me, bool together) {
  std::vector<std::byte> found(static_cast<size_t>(piece_of(me)));
  for (int call = 0; call < calls; ++call) {
    const auto take = [&] {
      if constexpr (requires { reader.collective(); }) {
        if (together) return reader.collective()->read(found, std::nullopt);
      }
      if (reader.stream().read(found) < found.size()) throw Error(Code::io, "the stream ends early");
    };
    const bool went_well =
        together ? outcomes.all(me, "call " + std::to_string(call), take) : outcomes.own(me, take);
    if (!went_well) break;
    EXPECT_EQ(found, content(me, call * piece_of(me), piece_of(me))) << "task " << me;
  }
}

Body parallel_reading(const std::string& words) {
  return [=](Comm& comm, Store& store, Outcomes& outcomes) {
    const int me = comm.rank();
    std::optional<Reader> reader;
    if (!outcomes.all(me, "open", [&] { reader.emplace(store, comm.duplicate(), "a", mode_of(words, 100)); }))
      return;
    read_stream(*reader, outcomes, me, words.find("collective") != std::string::npos);
    outcomes.all(me, "close", [&] { reader->close(); });
  };
}

void read_mapped(Comm& comm, Store& store, Outcomes& outcomes) {
  const int me = comm.rank();
  std::optional<Reader> reader;
  if (!outcomes.all(me, "open", [&] {
        reader.emplace(store, comm.duplicate(), MappedReadRequest{"a", true, {}}, mode_of("r", 100));
      }))
    return;
  read_stream(*reader, outcomes, me, false);
  outcomes.all(me, "close", [&] { reader->close(); });
}

std::function<void(MemoryStore&)> written(const std::string& words, int nfiles) {
  return [=](MemoryStore& memory) {
    TaskHandles store(memory);
    Outcomes outcomes(tasks, {});
    run_fibers(fibers(tasks),
               [&](Comm& comm) { parallel_writing(words, nfiles, false)(comm, store, outcomes); });
    require(!outcomes.any_failed(), "writing");
  };
}

// All data must be in the stream of task 0, call by call. Each call must be accepted from all tasks or from
// none.
void check_merged(MemoryStore& memory, const Outcomes& outcomes) {
  if (!outcomes.succeeded("close")) return;
  std::vector<std::byte> expected;
  for (int64_t call = 0; call < std::ssize(outcomes.accepted.of(0)) / piece_of(0); ++call)
    for (int64_t t = 0; t < tasks; ++t) {
      const auto piece =
          std::span(outcomes.accepted.of(t))
              .subspan(static_cast<size_t>(call * piece_of(t)), static_cast<size_t>(piece_of(t)));
      expected.insert(expected.end(), piece.begin(), piece.end());
    }
  EXPECT_EQ(streams_of(memory), (std::vector<std::vector<std::byte>>{expected, {}, {}, {}}));
}

void check_copies(MemoryStore& memory, const Outcomes& outcomes) {
  check_written(memory, outcomes);
  if (outcomes.any_failed()) return;
  WorkProgress quiet;
  EXPECT_TRUE(verify(memory, buddy_name("a", 0), true, quiet).ok());
}

void check_nothing(MemoryStore&, const Outcomes&) {}

std::vector<FaultyProgram> programs() {
  std::vector<FaultyProgram> all;
  const auto add = [&](FaultyProgram p) {
    p.ntasks = tasks;
    all.push_back(std::move(p));
  };
  const std::string plain = ",journal=off,checksums=off";
  // A temporary fault of a writer need not cause an error. Adds each program with one file and with several.
  const auto writes = [&](const std::string& name, const Body& body, const auto& check, bool reads = false) {
    add({.name = name, .reads = reads, .notices = false, .body = body, .check = check});
  };
  for (const int nfiles : {1, 2}) {
    const std::string files = nfiles == 1 ? "OneFile" : "TwoFiles";
    writes("Write" + files, parallel_writing("", nfiles, true), check_written);
    writes("WriteDurable" + files, parallel_writing(",durable", nfiles, true), check_written);
    writes("WriteCompressed" + files, parallel_writing(compressed, nfiles, true), check_written);
    writes("WritePlain" + files, parallel_writing(plain, nfiles, true), check_written);
  }
  writes("WriteCollectivelyTwoGroups", parallel_writing(",collective,collsize=2", 1, true), check_written);
  writes("WriteCollectivelyOneGroup", parallel_writing(",collective,collsize=4", 1, true), check_written);
  writes("WriteCollectivelyDurable", parallel_writing(",collective,collsize=2,durable", 2, true),
         check_written);
  writes("WriteCollectivelyCompressed", parallel_writing(",collective" + compressed, 1, true), check_written);
  writes("WriteMerged", parallel_writing(",collective,collsize=4,cmerge", 1, true), check_merged);
  writes("WriteWithCopies", parallel_writing(",buddy=1", 2, false), check_copies, true);
  writes("WriteMapped", mapped_writing(""), check_written);
  writes("WriteMappedCompressed", mapped_writing(compressed), check_written);
  const auto appends = [&](const std::string& name, const std::string& words, const std::string& more) {
    add({.name = name,
         .notices = false,
         .make = written(words, 2),
         .body = appending(more),
         .check = words == plain ? check_appended_plain : check_appended});
  };
  appends("Append", "", "");
  appends("AppendDurable", "", ",durable");
  appends("AppendCompressed", compressed, "");
  appends("AppendPlain", plain, ",journal=off");
  const auto reads = [&](const std::string& name, const std::string& words, int nfiles, const Body& body) {
    add({.name = name, .make = written(words, nfiles), .body = body, .check = check_nothing});
  };
  reads("Read", "", 2, parallel_reading("r"));
  reads("ReadCompressedOneFile", compressed, 1, parallel_reading("r"));
  reads("ReadCompressedTwoFiles", compressed, 2, parallel_reading("r"));
  reads("ReadPlain", plain, 2, parallel_reading("r"));
  reads("ReadCollectivelyTwoGroups", "", 1, parallel_reading("r,collective=2"));
  reads("ReadCollectivelyOneGroup", "", 1, parallel_reading("r,collective=4"));
  reads("ReadMapped", "", 2, read_mapped);
  reads("ReadMappedCompressed", compressed, 2, read_mapped);
  return all;
}

using FaultOnOneTask = FaultTable;
TEST_P(FaultOnOneTask, IsToldToAllAndLeavesNoWrongByte) {
  sweep(std::get<0>(GetParam()), std::get<1>(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(All, FaultOnOneTask,
                         ::testing::Combine(::testing::ValuesIn(programs()),
                                            ::testing::ValuesIn(kinds_of_fault())),
                         name_of_case);

}  // namespace
}  // namespace sheaf::test::fault_on_one_task_test
