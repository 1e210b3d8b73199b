// The k-th operation of one task of several fails, for every k, once and from then on: in every way to write and read a
// multifile, collective calls have one outcome on all tasks, nobody hangs, and no wrong byte is read or left in a complete file.
#include <gtest/gtest.h>

#include <map>

#include "multifile/verify.hpp"
#include "storage/faulty_store.hpp"
#include "support/mapped.hpp"

namespace sheaf::test {
namespace {

constexpr int tasks = 4;
constexpr int calls = 5;
constexpr const char* compressed = ",compress=lz4,frame=1k,compress_threads=0";

int64_t piece_of(int64_t task) { return 100 + 250 * task; }  // bytes of a call
int64_t length_of(int64_t task) { return calls * piece_of(task); }

// How the calls of a program ended, on every task.
class Outcomes {
 public:
  // A collective call: the same on all tasks, or the test fails. Returns whether it succeeded.
  bool all(int task, const std::string& call, const std::function<void()>& act) { return note(collective_[call], task, act); }
  // A call of one task; false from the first failure on.
  bool own(int task, const std::function<void()>& act) { return note(own_[std::to_string(task)], task, act); }

  void expect_one_outcome() const {
    for (const auto& [call, failed] : collective_)
      for (const int other : failed) EXPECT_EQ(other, failed[0]) << call << " failed on some tasks only";
  }
  bool failed(int task) const {
    const auto any = [&](const auto& calls_of) {
      return std::ranges::any_of(calls_of, [&](const auto& call) { return call.second[static_cast<size_t>(task)] == 1; });
    };
    return any(collective_) || any(own_);
  }
  bool any_failed() const {
    for (int t = 0; t < tasks; ++t)
      if (failed(t)) return true;
    return false;
  }

 private:
  using PerTask = std::vector<int>;  // 1: has failed
  static bool note(PerTask& failed, int task, const std::function<void()>& act) {
    failed.resize(tasks);
    int& mine = failed[static_cast<size_t>(task)];
    if (const auto error = attempt(act)) {
      EXPECT_TRUE(error->code() == Code::io || error->code() == Code::no_space) << error->what();
      mine = 1;
    }
    return mine == 0;
  }
  std::map<std::string, PerTask> collective_, own_;
};

using Body = std::function<void(Comm&, Store&, Outcomes&)>;
using Check = std::function<void(MemoryStore&, const Outcomes&)>;

// Before every run `make` fills the store.
void sweep(const std::function<void(MemoryStore&)>& make, const Body& body, const Check& check) {
  for (const int victim : {0, tasks - 1})
    for (const bool from_then_on : {false, true})
      for (const bool half : {false, true}) {
        FaultPlan plan;
        plan.from_then_on = from_then_on;
        plan.half_first = half;
        plan.errno_value = half ? ENOSPC : EIO;
        for (plan.fail_at = 0;; ++plan.fail_at) {
          SCOPED_TRACE("operation " + std::to_string(plan.fail_at) + (from_then_on ? " and all later ones" : "") + " of task " +
                       std::to_string(victim) + (half ? ", half done" : ""));
          MemoryStore memory;
          make(memory);
          FaultyStore faulty(memory, plan);
          SharedHandles broken(faulty), sound(memory);
          Outcomes outcomes;
          ASSERT_NO_THROW(run_fibers(fibers(tasks), [&](Comm& comm) {
            body(comm, comm.rank() == victim ? static_cast<Store&>(broken) : sound, outcomes);
          }));
          EXPECT_EQ(broken.open_files() + sound.open_files(), 0u);
          outcomes.expect_one_outcome();
          if (faulty.failed() == 0) {
            EXPECT_FALSE(outcomes.any_failed());
          }
          check(memory, outcomes);
          if (faulty.failed() == 0 || ::testing::Test::HasFailure()) break;
          ASSERT_LT(plan.fail_at, 1000);
        }
        if (::testing::Test::HasFailure()) return;
      }
}

void nothing(MemoryStore&) {}

// What is left can be opened, is unclosed, or is no multifile; what it holds is right, and whole where all went well.
void check_written(MemoryStore& memory, const Outcomes& outcomes, const std::function<int64_t(int64_t)>& length = length_of) {
  if (const auto refused = attempt([&] { SerialReader(memory, "a", mode_of("r")); })) {
    EXPECT_TRUE(outcomes.any_failed()) << refused->what();
    return;
  }
  SerialReader all(memory, "a", mode_of("r"));
  EXPECT_TRUE(outcomes.any_failed() || !all.facts().unclosed);
  for (int t = 0; t < tasks; ++t) {
    all.select(t);
    std::vector<std::byte> found(static_cast<size_t>(length(t)) + 1);
    found.resize(all.stream().read(found));
    EXPECT_EQ(found, content(t, 0, std::ssize(found))) << "task " << t;
    EXPECT_LE(std::ssize(found), length(t));
    if (!outcomes.any_failed()) {
      EXPECT_EQ(std::ssize(found), length(t)) << "task " << t;
    }
  }
  WorkProgress quiet;
  if (!all.facts().unclosed) {
    EXPECT_TRUE(verify(memory, "a", true, quiet).ok());
  }
}

Body parallel_writing(const std::string& words, int nfiles, bool flushes) {
  return [=](Comm& comm, Store& store, Outcomes& outcomes) {
    const int me = comm.rank();
    std::optional<ParallelWriter> writer;
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
      const auto data = content(me, call * piece_of(me), piece_of(me));
      if (writer->collective()) {
        // A call that is no round tells a failure to its own task first; the others hear of it in the next round.
        if (!outcomes.own(me, [&] { writer->write_collectively(data, std::nullopt); })) continue;
      } else if (!outcomes.own(me, [&] { writer->stream().write(data); })) {
        break;
      }
      if (flushes && call == 2) outcomes.own(me, [&] { writer->commit(); });
    }
    outcomes.all(me, "close", [&] { writer->close(); });
  };
}

TEST(FaultOnOneTask, InParallelWriting) {
  for (const char* const words : {"", ",durable", compressed, ",journal=off,checksums=off"})
    for (const int nfiles : {1, 2}) {
      SCOPED_TRACE(std::string(words) + ", " + std::to_string(nfiles) + " files");
      sweep(nothing, parallel_writing(words, nfiles, true), [](MemoryStore& m, const Outcomes& o) { check_written(m, o); });
    }
}

// A program that goes on after a call has failed may have a hole in its stream: only what the library says is compared.
TEST(FaultOnOneTask, InCollectiveWriting) {
  for (const char* const more : {",collsize=2", ",collsize=4", compressed}) {
    const std::string words = std::string(",collective") + more;
    SCOPED_TRACE(words);
    sweep(nothing, parallel_writing(words, 1, true), [](MemoryStore& m, const Outcomes& o) {
      if (!o.any_failed()) check_written(m, o);
    });
  }
}

Body mapped_writing(const std::string& words) {
  return [=](Comm& comm, Store& store, Outcomes& outcomes) {
    const int me = comm.rank();
    const std::vector<MappedWriteTask> mine{{me, 600, layout::place_blockwise(me, tasks, 2)}};
    std::optional<MappedWriter> writer;
    if (!outcomes.all(me, "open", [&] { writer.emplace(store, comm.duplicate(), MappedWriteRequest{"a", 2, 64, mine}, shared_mode_of(comm, "w" + words, 300)); }))
      return;
    for (int call = 0; call < calls; ++call)
      if (!outcomes.own(me, [&] { writer->stream().write(content(me, call * piece_of(me), piece_of(me))); })) break;
    outcomes.all(me, "close", [&] { writer->close(); });
  };
}

TEST(FaultOnOneTask, InMappedWriting) {
  for (const char* const words : {"", compressed})
    sweep(nothing, mapped_writing(words), [](MemoryStore& m, const Outcomes& o) { check_written(m, o); });
}

void write_all(MemoryStore& memory, const std::string& words, int nfiles) {
  SharedHandles store(memory);
  Outcomes outcomes;
  run_fibers(fibers(tasks), [&](Comm& comm) { parallel_writing(words, nfiles, false)(comm, store, outcomes); });
  require(!outcomes.any_failed(), "writing");
}

TEST(FaultOnOneTask, InAppending) {
  for (const char* const words : {"", compressed}) {
    const auto body = [](Comm& comm, Store& store, Outcomes& outcomes) {
      const int me = comm.rank();
      const std::vector<int64_t> mine{me};
      std::optional<MappedWriter> writer;
      if (!outcomes.all(me, "open", [&] { writer.emplace(store, comm.duplicate(), MappedAppendRequest{{"a", false, mine}, 0}, mode_of("append", 300)); }))
        return;
      for (int call = 0; call < calls; ++call)
        if (!outcomes.own(me, [&] { writer->stream().write(content(me, length_of(me) + call * 300, 300)); })) break;
      outcomes.all(me, "close", [&] { writer->close(); });
    };
    sweep([&](MemoryStore& memory) { write_all(memory, words, 2); }, body,
          [](MemoryStore& m, const Outcomes& o) { check_written(m, o, [](int64_t t) { return length_of(t) + calls * 300; }); });
  }
}

template <class Reader>
void read_stream(Reader& reader, Outcomes& outcomes, int me, bool together) {
  std::vector<std::byte> found(static_cast<size_t>(piece_of(me)));
  for (int call = 0; call < calls; ++call) {
    const auto take = [&] {
      if constexpr (requires { reader.collective(); }) {
        if (together) return reader.collective()->read(found, std::nullopt);
      }
      EXPECT_EQ(reader.stream().read(found), found.size());
    };
    const bool went_well = together ? outcomes.all(me, "call " + std::to_string(call), take) : outcomes.own(me, take);
    if (!went_well) break;
    EXPECT_EQ(found, content(me, call * piece_of(me), piece_of(me))) << "task " << me;
  }
}

TEST(FaultOnOneTask, InParallelReading) {
  struct Way {
    const char* written;
    int nfiles;
    const char* read;
  };
  for (const Way& way : {Way{"", 2, "r"}, Way{compressed, 2, "r"}, Way{compressed, 1, "r"}, Way{"", 1, "r,collective=2"}, Way{"", 1, "r,collective=4"}}) {
    SCOPED_TRACE(std::string(way.written) + ", " + way.read);
    const bool together = std::string_view(way.read).find("collective") != std::string_view::npos;
    const auto body = [&](Comm& comm, Store& store, Outcomes& outcomes) {
      const int me = comm.rank();
      std::optional<ParallelReader> reader;
      if (!outcomes.all(me, "open", [&] { reader.emplace(store, comm.duplicate(), "a", mode_of(way.read, 100)); })) return;
      read_stream(*reader, outcomes, me, together);
      outcomes.all(me, "close", [&] { reader->close(); });
    };
    sweep([&](MemoryStore& memory) { write_all(memory, way.written, way.nfiles); }, body, [](MemoryStore&, const Outcomes&) {});
  }
}

TEST(FaultOnOneTask, InMappedReading) {
  for (const char* const words : {"", compressed}) {
    const auto body = [](Comm& comm, Store& store, Outcomes& outcomes) {
      const int me = comm.rank();
      std::optional<MappedReader> reader;
      if (!outcomes.all(me, "open", [&] { reader.emplace(store, comm.duplicate(), MappedReadRequest{"a", true, {}}, mode_of("r", 100)); })) return;
      read_stream(*reader, outcomes, me, false);
      outcomes.all(me, "close", [&] { reader->close(); });
    };
    sweep([&](MemoryStore& memory) { write_all(memory, words, 2); }, body, [](MemoryStore&, const Outcomes&) {});
  }
}

}  // namespace
}  // namespace sheaf::test
