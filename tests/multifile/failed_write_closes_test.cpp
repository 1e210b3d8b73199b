// A write fails because the disk is full, and later there is space again. If the program repeats the write,
// the file must be complete. If it ignores the failure, every flush must fail, and the close must fail on all
// tasks; the file then stays unclosed with all flushed data. Covers every way to write a multifile.
#include "multifile/keyval/keyval_writer.hpp"
#include "support/accepted.hpp"
#include "support/mapped.hpp"
#include "support/stores/faulty_store.hpp"

namespace sheaf::test::failed_write_closes_test {

using namespace multifile;

namespace {

enum class OpenCallKind { alone, parallel, mapped, append };

struct FailedCloseCase {
  const char* name;
  OpenCallKind open;
  std::string words;
  int nfiles = 1;
};

const std::vector<FailedCloseCase> cases = {
    {"alone", OpenCallKind::alone, ""},
    {"alone_unbuffered", OpenCallKind::alone, ",buffer=0"},
    {"alone_durable", OpenCallKind::alone, ",durable"},
    {"alone_without_journal", OpenCallKind::alone, ",journal=off"},
    {"alone_keyval", OpenCallKind::alone, ",keyval=inline"},
    {"alone_compressed", OpenCallKind::alone, ",compress=lz4,frame=1k,compress_threads=0"},
    {"alone_compressed_by_threads", OpenCallKind::alone, ",compress=lz4,frame=1k,compress_threads=2"},
    {"parallel", OpenCallKind::parallel, ""},
    {"parallel_files", OpenCallKind::parallel, "", 2},
    {"parallel_durable", OpenCallKind::parallel, ",durable"},
    {"parallel_without_journal", OpenCallKind::parallel, ",journal=off", 2},
    {"parallel_keyval", OpenCallKind::parallel, ",keyval=inline"},
    {"parallel_compressed", OpenCallKind::parallel, ",compress=lz4,frame=1k,compress_threads=0"},
    {"collective", OpenCallKind::parallel, ",collective"},
    {"collective_groups", OpenCallKind::parallel, ",collective,collsize=2", 2},
    {"collective_compressed", OpenCallKind::parallel, ",collective,compress=lz4,frame=1k,compress_threads=0"},
    {"merged", OpenCallKind::parallel, ",collective,collsize=3,cmerge"},
    {"copies", OpenCallKind::parallel, ",collective,collsize=2,buddy=1", 2},
    {"mapped", OpenCallKind::mapped, "", 2},
    {"mapped_compressed", OpenCallKind::mapped, ",compress=lz4,frame=1k,compress_threads=0"},
    {"append", OpenCallKind::append, ""},
    {"append_compressed", OpenCallKind::append, ",compress=lz4,frame=1k,compress_threads=0"},
};

constexpr int64_t call_bytes = 700;
constexpr int max_calls = 5000;  // enough calls to exceed every buffer and group

bool has(const FailedCloseCase& c, const char* word) { return c.words.find(word) != std::string::npos; }

// One run of a case, with several tasks or one.
class FailedCloseRun {
 public:
  FailedCloseRun(const FailedCloseCase& c, Accepted::Reaction reaction)
      : case_(c), reaction_(reaction), ledger_(ntasks()) {}

  // Returns the number of tasks. It equals the number of processes unless one process has all tasks.
  int64_t ntasks() const { return 3; }
  int processes() const { return case_.open == OpenCallKind::alone ? 1 : 3; }

  void run() {
    if (case_.open == OpenCallKind::append) {
      TaskHandles sound(memory_);
      run_fibers(fibers(processes(), 1), [&](Comm& comm) {
        auto writer = open(sound, comm, OpenCallKind::mapped, "w" + case_.words);
        write(*writer, comm, comm.rank());
        writer->close();
      });
    }
    TaskHandles store(faulty_);
    run_fibers(fibers(processes(), 2), [&](Comm& comm) { run_task(store, comm); });
    EXPECT_EQ(store.open_files(), 0u);
    check();
  }

 private:
  std::unique_ptr<Writer> open(Store& store, Comm& comm, OpenCallKind kind, const std::string& words) {
    const int64_t buffer = has(case_, "buffer=0") ? 0 : 300;
    const std::vector<int64_t> chunks(static_cast<size_t>(ntasks()), 1000), ranks{0, 1, 2};
    const OpenMode mode = shared_mode_of(comm, words, buffer);
    const int me = comm.rank();
    switch (kind) {
      case OpenCallKind::alone:
        return std::make_unique<Writer>(store, SerialWriteRequest{"a", chunks, ranks, 64}, mode);
      case OpenCallKind::mapped: {
        const std::vector<MappedWriteTask> mine{{me, 1000, layout::place_blockwise(me, 3, case_.nfiles)}};
        return std::make_unique<Writer>(store, comm.duplicate(),
                                        MappedWriteRequest{"a", case_.nfiles, 64, mine}, mode);
      }
      case OpenCallKind::append: {
        const std::vector<int64_t> mine{me};
        return std::make_unique<Writer>(store, comm.duplicate(), MappedAppendRequest{{"a", false, mine}, 0},
                                        mode);
      }
      case OpenCallKind::parallel:
        break;
    }
    ParallelWriteRequest request;
    request.path = "a";
    request.nfiles = case_.nfiles;
    request.fsblksize = 64;
    request.chunk_size = 1000;
    return std::make_unique<Writer>(store, comm.duplicate(), std::move(request), mode);
  }

  // Returns the bytes of a call. In a key-value file, they are one record.
  std::vector<std::byte> next(int64_t task) {
    const auto value = ledger_.next(task, call_bytes);
    if (!has(case_, "keyval")) return value;
    const RecordHead head = record_head(native_order, 7, value.size());
    std::vector<std::byte> record(head.begin(), head.end());
    record.insert(record.end(), value.begin(), value.end());
    return record;
  }

  // Makes one call, on all processes if it is collective. Returns the bytes that the call rejected.
  std::vector<std::byte> write(Writer& writer, Comm& comm, int64_t task, std::vector<std::byte> data = {}) {
    if (data.empty()) data = next(task);
    const auto problem = attempt([&] {
      writer.append({}, data, [&] {
        writer.collective()    ? writer.write_collectively(data, std::nullopt)
        : has(case_, "keyval") ? writer.stream().write_filling({}, data)
                               : writer.stream().write(data);
      });
    });
    if (problem) return data;
    // A merged stream has the bytes of all tasks, in task order.
    if (!has(case_, "cmerge")) {
      ledger_.accept(task, data);
    } else if (comm.rank() == 0) {
      merged_ += processes();
    }
    return {};
  }

  void set_full(Comm& comm, bool full) {
    comm.barrier();
    FaultPlan plan;
    if (full) {
      plan.fail_at = 0;
      plan.from_then_on = true;
      plan.errno_value = ENOSPC;
      plan.kind = StoreOperation::write;
    }
    if (comm.rank() == 0) faulty_.set_plan(plan);
    comm.barrier();
  }

  void run_task(Store& store, Comm& comm) {
    const std::string direction = case_.open == OpenCallKind::append ? "append" : "w";
    auto writer = open(store, comm, case_.open, direction + case_.words);
    const bool together = writer->collective() != nullptr;
    const int64_t task = processes() == 1 ? 1 : comm.rank();
    writer->select(task);
    write(*writer, comm, task);
    writer->commit();
    ledger_.commit(task);
    comm.barrier();

    set_full(comm, true);
    const bool writes = together || task == 1;
    std::vector<std::byte> rejected;
    for (int call = 0; writes && call < max_calls; ++call) {
      rejected = write(*writer, comm, task);
      int64_t failed = !rejected.empty();
      if (together) comm.all_max(std::span(&failed, 1));
      if (failed) break;
    }
    EXPECT_TRUE(rejected.empty() != (task == 1 || has(case_, "cmerge")) || together) << "task " << task;
    int64_t any = !rejected.empty();
    comm.all_max(std::span(&any, 1));
    EXPECT_EQ(any, 1) << "nothing has failed";
    set_full(comm, false);

    repeat(*writer, comm, task, rejected);
    const auto flushed = attempt([&] { writer->commit(); });
    EXPECT_EQ(flushed.has_value(), !rejected.empty() && reaction_ == Accepted::Reaction::ignore)
        << "task " << task << (flushed ? flushed->what() : "");
    if (flushed) expect_place(*flushed, "task " + std::to_string(task));
    if (!flushed) ledger_.commit(task);
    const auto closed = attempt([&] { writer->close(); });
    EXPECT_EQ(closed.has_value(), reaction_ == Accepted::Reaction::ignore)
        << "task " << task << (closed ? closed->what() : "");
    if (closed) expect_place(*closed, "task");
  }

  void repeat(Writer& writer, Comm& comm, int64_t task, const std::vector<std::byte>& rejected) {
    if (reaction_ == Accepted::Reaction::ignore) return;
    if (!writer.collective()) {
      if (rejected.empty()) return;
      if (reaction_ == Accepted::Reaction::repeat) {
        EXPECT_TRUE(write(writer, comm, task, rejected).empty());
      } else {
        const auto half = rejected.begin() + std::ssize(rejected) / 2;
        EXPECT_TRUE(write(writer, comm, task, {rejected.begin(), half}).empty());
        EXPECT_TRUE(writer.awaits_retry());
        EXPECT_TRUE(write(writer, comm, task, {half, rejected.end()}).empty());
      }
      return;
    }
    // Tasks whose bytes were accepted participate with no data, because a failure of one task reaches the
    // others in the next round.
    std::vector<std::byte> left = rejected;
    for (int tries = 1;; ++tries) {
      const auto data = std::exchange(left, {});
      int64_t failed = attempt([&] {
                         writer.append({}, data, [&] { writer.write_collectively(data, std::nullopt); });
                       }).has_value();
      if (failed)
        left = data;
      else if (!has(case_, "cmerge"))
        ledger_.accept(task, data);
      else if (comm.rank() == 0)
        merged_ += processes();
      comm.all_max(std::span(&failed, 1));
      if (!failed) return;
      ASSERT_LT(tries, 3);
    }
  }

  static void expect_place(const Error& e, const std::string& task) {
    const std::string text = e.what();
    for (const std::string& part : {std::string("'a"), task, std::string("has failed and was not repeated"),
                                    std::string("No space left")})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }

  void check() {
    if (reaction_ != Accepted::Reaction::ignore && !has(case_, "cmerge"))
      return ledger_.expect_all_in(memory_);
    if (reaction_ != Accepted::Reaction::ignore) {
      EXPECT_EQ(std::ssize(stream_of(memory_, "a", 0)), merged_ * call_bytes);
      return;
    }
    const auto problem = attempt([&] {
      const FileFacts found = Reader(memory_, "a", mode_of("r")).facts();
      EXPECT_TRUE(found.unclosed || case_.open == OpenCallKind::append)
          << "nobody says that the file is not whole";
    });
    EXPECT_TRUE(!problem || problem->code() == Code::unclosed) << problem->what();
    if (!has(case_, "cmerge"))
      ledger_.expect_beginnings_in(memory_, !has(case_, "journal=off"), has(case_, "compress"));
  }

  const FailedCloseCase& case_;
  const Accepted::Reaction reaction_;
  Accepted ledger_;
  int64_t merged_ = 0;  // number of calls in the merged stream
  MemoryStore memory_;
  FaultyStore faulty_{memory_};
};

class FailedWriteCloses : public ::testing::TestWithParam<FailedCloseCase> {};

TEST_P(FailedWriteCloses, WithAnErrorIfTheProgramIgnoresIt) {
  FailedCloseRun(GetParam(), Accepted::Reaction::ignore).run();
}
TEST_P(FailedWriteCloses, WellIfTheProgramRepeatsIt) {
  FailedCloseRun(GetParam(), Accepted::Reaction::repeat).run();
}
TEST_P(FailedWriteCloses, WellIfTheProgramRepeatsItInHalves) {
  FailedCloseRun(GetParam(), Accepted::Reaction::repeat_in_halves).run();
}

INSTANTIATE_TEST_SUITE_P(Ways, FailedWriteCloses, ::testing::ValuesIn(cases),
                         [](const auto& way) { return std::string(way.param.name); });

}  // namespace
}  // namespace sheaf::test::failed_write_closes_test
