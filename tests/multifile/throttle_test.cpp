// Open mode iotasks=K and hint sheaf_iotasks: at most K tasks of a host transfer at once, and K tasks do.
#include <gtest/gtest.h>

#include "comm/on_threads.hpp"
#include "exchange/transfer/throttle.hpp"
#include "mpiio/file/shared_file.hpp"
#include "storage/decorators/shared_handles.hpp"
#include "storage/testing.hpp"
#include "support/counting_store.hpp"
#include "support/mapped.hpp"
#include "support/processors_comm.hpp"

namespace sheaf::test::throttle_test {

using namespace mpiio;
using namespace multifile;

namespace {

constexpr int tasks = 8;
constexpr size_t piece = 128 << 10;  // exceeds the buffers
constexpr size_t large = 32 << 10;   // metadata are smaller

// Sets the environment for one test.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

std::vector<std::byte> bytes_of(int64_t task, size_t size) {
  return testing::pattern(size, static_cast<unsigned>(task + 1));
}

// Four large writes of every task.
void write_large(Store& store, const std::string& path, Comm& given, const std::string& mode, int files = 2,
                 int64_t chunk_size = 4 * piece) {
  ParallelWriteRequest request;
  request.path = path;
  request.nfiles = files;
  request.chunk_size = chunk_size;
  Writer writer(store, given.duplicate(), std::move(request), shared_mode_of(given, mode));
  const auto bytes = bytes_of(writer.task(), piece);
  for (int i = 0; i < 4; ++i) writer.stream().write(bytes);
  writer.close();
}

void check_large(Store& store, const std::string& path, int ntasks = tasks) {
  Reader reader(store, path, parse_open_mode("r"));
  for (int t = 0; t < ntasks; ++t) {
    reader.select(t);
    std::vector<std::byte> found(piece);
    for (int i = 0; i < 4; ++i) {
      ASSERT_EQ(reader.stream().read(found), piece);
      ASSERT_EQ(found, bytes_of(t, piece)) << "task " << t << ", piece " << i;
    }
  }
}

class Throttle : public ::testing::TestWithParam<bool> {
 protected:
  Store& files() {
    if (GetParam()) return posix_store();
    return memory_;
  }
  std::string path() { return GetParam() ? directory_ / "m" : "m"; }

 private:
  MemoryStore memory_;
  testing::TemporaryDirectory directory_;
};

INSTANTIATE_TEST_SUITE_P(Stores, Throttle, ::testing::Values(false, true),
                         [](const auto& kind) { return kind.param ? "posix" : "memory"; });

TEST_P(Throttle, SoManyTasksWriteAtOnce) {
  for (const int allowed : {1, 3}) {
    WritersAtWork at_work;
    CountingStore store(files(), at_work, large);
    on_team(tasks,
            [&](Comm& comm) { write_large(store, path(), comm, "w,iotasks=" + std::to_string(allowed)); });
    EXPECT_EQ(at_work.most, allowed);
    EXPECT_GE(at_work.writes, 4 * tasks);
    check_large(files(), path());
  }
}

TEST_P(Throttle, SoManyTasksReadAtOnce) {
  on_team(tasks, [&](Comm& comm) { write_large(files(), path(), comm, "w"); });
  for (const int allowed : {1, 3, tasks}) {
    WritersAtWork at_work;
    CountingStore store(files(), at_work, large, true);
    const std::string name = path();
    on_team(tasks, [&](Comm& comm) {
      Reader reader(store, comm.duplicate(), name,
                    parse_open_mode("r,checksums=off,iotasks=" + std::to_string(allowed)));
      std::vector<std::byte> found(piece);
      for (int i = 0; i < 4; ++i) {
        if (reader.stream().read(found) != piece || found != bytes_of(reader.task(), piece))
          throw std::logic_error("wrong bytes");
      }
      reader.close();
    });
    EXPECT_LE(at_work.most, allowed);
    EXPECT_GT(at_work.most, allowed == 1 ? 0 : 1);
    EXPECT_GE(at_work.writes, 4 * tasks);
  }
}

TEST_P(Throttle, SharedFilesToo) {
  for (const bool reads : {false, true}) {
    WritersAtWork at_work;
    CountingStore store(files(), at_work, large, reads);
    const std::string name = path();
    on_team(tasks, [&](Comm& comm) {
      Hints hints;
      hints.io_tasks = 2;
      const auto file = SharedFile::open(comm.duplicate(), store, name,
                                         {.read = true, .write = true, .create = true}, hints);
      auto bytes = bytes_of(comm.rank(), piece);
      const int64_t place = comm.rank() * static_cast<int64_t>(piece);
      file->write_at(View{}, place, {bytes.data(), layout::TypeMap::bytes(1), static_cast<int64_t>(piece)});
      std::vector<std::byte> found(piece);
      file->read_at(View{}, place, {found.data(), layout::TypeMap::bytes(1), static_cast<int64_t>(piece)});
      if (found != bytes) throw std::logic_error("wrong bytes");
      file->close();
    });
    EXPECT_EQ(at_work.most, 2) << (reads ? "reading" : "writing");
  }
}

TEST_P(Throttle, WithoutTheWordAllWriteAtOnce) {
  for (const char* mode : {"w", "w,iotasks=0", "w,iotasks=100"}) {
    WritersAtWork at_work;
    CountingStore store(files(), at_work, large);
    on_team(tasks, [&](Comm& comm) { write_large(store, path(), comm, mode); });
    EXPECT_GT(at_work.most, 3) << mode;
  }
}

TEST_P(Throttle, TasksOfAFileTakeTurnsIfProcessorsAreMissing) {
  struct Case {
    int processors = tasks - 1, files = 2;
    int64_t chunk_size = 1 << 20;
    const char* mode = "w";
    bool take_turns = false;
  };
  for (const Case& c : {Case{.take_turns = true}, Case{.processors = 1, .files = 3, .take_turns = true},
                        Case{.processors = tasks}, Case{.files = 1}, Case{.chunk_size = (1 << 20) - 1},
                        Case{.mode = "w,iotasks=100"}}) {
    WritersAtWork at_work;
    CountingStore store(files(), at_work, large);
    on_team(tasks, [&](Comm& comm) {
      ProcessorsComm host(comm.duplicate(), c.processors);
      write_large(store, path(), host, c.mode, c.files, c.chunk_size);
    });
    const std::string text = std::to_string(c.processors) + " processors, " + std::to_string(c.files) +
                             " files, chunks of " + std::to_string(c.chunk_size) + ", " + c.mode;
    if (c.take_turns)
      EXPECT_EQ(at_work.most, c.files) << text;
    else
      EXPECT_GT(at_work.most, 3) << text;
    check_large(files(), path());
  }
}

TEST_P(Throttle, EveryNodeHasSlotsOfItsOwn) {
  const Environment topology("SHEAF_TOPOLOGY", "node=4");
  WritersAtWork at_work[2];
  WritersAtWork together;
  CountingStore all(files(), together, large);
  CountingStore stores[2] = {{all, at_work[0], large}, {all, at_work[1], large}};
  on_team(tasks, [&](Comm& comm) { write_large(stores[comm.rank() / 4], path(), comm, "w,iotasks=2"); });
  EXPECT_EQ(at_work[0].most, 2);
  EXPECT_EQ(at_work[1].most, 2);
  EXPECT_GT(together.most, 2);
  check_large(files(), path());
}

TEST_P(Throttle, BuffersThatAreFullWaitAsWell) {
  WritersAtWork at_work;
  CountingStore store(files(), at_work, large);
  on_team(tasks, [&](Comm& comm) {
    ParallelWriteRequest request;
    const std::string name = path();
    request.path = name;
    request.chunk_size = 1 << 20;
    Writer writer(store, comm.duplicate(), std::move(request), parse_open_mode("w,iotasks=2,buffer=64k"));
    const auto record = bytes_of(writer.task(), 1000);
    for (int i = 0; i < 1000; ++i) writer.stream().write(record);
    writer.close();
  });
  EXPECT_EQ(at_work.most, 2);
}

TEST_P(Throttle, MappedWritersAndAppendersToo) {
  WritersAtWork at_work;
  CountingStore store(files(), at_work, large);
  const std::string name = path();
  on_team(tasks, [&](Comm& comm) {
    const int first = 2 * comm.rank();
    std::vector<MappedWriteTask> own;
    for (const int t : {first, first + 1}) own.push_back({t, 4 * piece, {t % 2, t / 2}});
    Writer writer(store, comm.duplicate(), {name, 2, -1, own}, parse_open_mode("w,iotasks=3"));
    for (const int t : {first, first + 1}) {
      writer.select(t);
      for (int i = 0; i < 2; ++i) writer.stream().write(bytes_of(t, piece));
    }
    writer.close();
  });
  EXPECT_EQ(at_work.most, 3);
  at_work.most = 0;
  on_team(tasks, [&](Comm& comm) {
    const MappedAppendRequest request{{name, true, {}}, 0};
    Writer writer(store, comm.duplicate(), request, parse_open_mode("a,iotasks=3"));
    for (const int t : {2 * comm.rank(), 2 * comm.rank() + 1}) {
      writer.select(t);
      for (int i = 0; i < 2; ++i) writer.stream().write(bytes_of(t, piece));
    }
    writer.close();
  });
  EXPECT_EQ(at_work.most, 3);
  EXPECT_GE(at_work.writes, 2 * 4 * tasks);
  check_large(files(), name, 2 * tasks);
}

TEST_P(Throttle, ThreadsThatShareADescriptor) {
  WritersAtWork at_work;
  CountingStore counting(files(), at_work, large);
  SharedHandles store(counting);
  on_team(tasks, [&](Comm& comm) { write_large(store, path(), comm, "w,iotasks=3"); });
  EXPECT_EQ(at_work.most, 3);
}

FiberOptions on_one_node(int ranks) {
  FiberOptions options = fibers(ranks);
  options.ranks_per_node = ranks;
  return options;
}

TEST(ThrottleSimulation, ManyTasksInOneThread) {
  MemoryStore store;
  run_fibers(on_one_node(64), [&](Comm& comm) { write_large(store, "m", comm, "w,iotasks=2"); });
  check_large(store, "m", 64);
}

// A host on which one task cannot create or join slots.
class WithoutSlots final : public Store {
 public:
  WithoutSlots(Store& inner, bool makes) : inner_(inner), makes_(makes) {}
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    return inner_.open(path, access);
  }
  FileStatus status(const std::string& path) override { return inner_.status(path); }
  void remove(const std::string& path) override { inner_.remove(path); }
  void rename(const std::string& from, const std::string& to) override { inner_.rename(from, to); }
  std::shared_ptr<WriteSlots> make_slots(int count) override {
    if (!makes_) throw os_error("cannot create the file for write slots", "slots", EACCES);
    return last_ = inner_.make_slots(count);
  }
  std::shared_ptr<WriteSlots> join_slots(const std::string& name, int count) override {
    if (std::exchange(joins_, true)) return inner_.join_slots(name, count);
    throw os_error("cannot open for writing", name, EMFILE);
  }
  std::shared_ptr<WriteSlots> last_;

 private:
  Store& inner_;
  const bool makes_;
  bool joins_ = false;
};

TEST(ThrottleFailure, SlotsThatCannotBeHadFailTheOpenOnAllTasksAndLeaveNothing) {
  for (const bool makes : {false, true}) {
    MemoryStore memory;
    WithoutSlots store(memory, makes);
    std::atomic<int> failed = 0;
    run_fibers(on_one_node(5), [&](Comm& comm) {
      failed += code_of([&] { write_large(store, "m", comm, "w,iotasks=2"); }) != Code::ok;
    });
    EXPECT_EQ(failed, 5);
    EXPECT_TRUE(memory.paths().empty());
    if (makes) {
      EXPECT_THROW(join_memory_slots(store.last_->name()), Error);
    }
  }
}

}  // namespace
}  // namespace sheaf::test::throttle_test
