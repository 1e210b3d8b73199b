// Readers open a multifile while another program commits one generation after another. Operations of all
// tasks on names interleave at random. Each open must find one generation.
#include <gtest/gtest.h>

#include <deque>

#include "multifile/create/commit.hpp"
#include "multifile/tools/verify.hpp"
#include "support/generations.hpp"
#include "support/variable.hpp"

namespace sheaf::test::commit_readers_test {

using namespace multifile;

namespace {

// Lets other tasks run before each operation on names.
class YieldingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    yield();
    return ForwardingStore::open(path, access);
  }
  FileStatus status(const std::string& path) override {
    yield();
    return ForwardingStore::status(path);
  }
  void remove(const std::string& path) override {
    yield();
    ForwardingStore::remove(path);
  }
  void rename(const std::string& from, const std::string& to) override {
    yield();
    ForwardingStore::rename(from, to);
  }
};

constexpr int last_generation = 30;
int files_of(int generation) {
  constexpr int files[] = {2, 5, 1, 3, 3, 2, 1, 1, 5};
  return files[static_cast<size_t>(generation) % std::size(files)];
}

// Runs one task that commits, and groups of tasks that read.
class Race {
 public:
  // If `shares`, the tasks of a group are threads of one process.
  Race(const std::deque<MemoryStore>& generations, bool shares) : generations_(generations), shares_(shares) {
    put("a", 1);
  }

  // Task 0 commits; 1 reads all tasks, 2 one task; 3 verifies; 4 and 5 read mapped; 6 to 10 read as a group.
  static constexpr int tasks = 11;
  void run(Comm& comm) {
    const int rank = comm.rank();
    Store& together = !shares_ ? store_ : rank < 6 ? yielding_by_two_ : yielding_by_five_;
    const auto own = comm.split(rank < 4 ? rank : rank < 6 ? 4 : 5, rank);
    if (rank == 0) return commit_all();
    for (int turn = 0; !done(*own); ++turn) {
      const int64_t committed = same_for_all(*own, committed_);
      const int found = rank == 1   ? generation_of(store_, "a")
                        : rank == 2 ? one_task(turn)
                        : rank == 3 ? verified()
                        : rank < 6  ? read_mapped_generation(together, *own, "a")
                                    : read_as_group(together, *own, "a", turn % 2 ? "r,collective" : "r");
      require(found == 0 || found >= committed, "a reader finds generation " + std::to_string(found) +
                                                    " after " + std::to_string(committed) + " was committed");
      ++reads;
    }
  }

  int reads = 0;

 private:
  void put(const std::string& name, int generation) {
    for (int k = 0; k < files_of(generation); ++k)
      memory_.set_contents(
          format::physical_name(name, k),
          generations_[static_cast<size_t>(generation)].contents(format::physical_name("a", k)));
  }
  void commit_all() {
    for (int g = 2; g <= last_generation; ++g) {
      const std::string temporary = new_temporary_name(memory_, "a");
      put(temporary, g);
      commit_set(store_, temporary, "a", files_of(g), false);
      committed_ = g;
    }
  }
  int one_task(int turn) {
    const int64_t task = turn % generation_tasks;
    Reader reader(store_, "a", task, mode_of("r"));
    FoundGeneration found;
    found.add(task, reader.stream());
    return found.value();
  }
  int verified() {
    WorkProgress quiet;
    for (const FileReport& file : verify(store_, "a", true, quiet).files)
      require(file.findings.empty(),
              "verify: " + file.path + (file.findings.empty() ? "" : file.findings.front().message));
    return 0;
  }
  static int64_t same_for_all(Comm& comm, int64_t value) {
    comm.broadcast(std::as_writable_bytes(std::span(&value, 1)), 0);
    return value;
  }
  bool done(Comm& comm) {
    yield();
    return same_for_all(comm, committed_) == last_generation;
  }

  const std::deque<MemoryStore>& generations_;
  MemoryStore memory_;
  YieldingStore store_{memory_};
  SharedHandles shared_by_two_{memory_}, shared_by_five_{memory_};
  YieldingStore yielding_by_two_{shared_by_two_}, yielding_by_five_{shared_by_five_};
  const bool shares_;
  int64_t committed_ = 1;
};

TEST(CommitReaders, FindOneGenerationAtATime) {
  std::deque<MemoryStore> generations(last_generation + 1);
  for (int g = 1; g <= last_generation; ++g)
    write_generation(generations[static_cast<size_t>(g)], "a", g, files_of(g));
  int reads = 0;
  const uint64_t seeds = variable("SHEAF_COMMIT_READERS_RUNS", 12);
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Race race(generations, seed % 2 == 0);
    run_fibers(fibers(Race::tasks, seed), [&](Comm& comm) { race.run(comm); });
    reads += race.reads;
  }
  EXPECT_GT(reads, 25 * static_cast<int>(seeds));
}

// Decorator of a Store. Shows names as a host sees them that has cached an old state.
class StaleStore final : public ForwardingStore {
 public:
  StaleStore(Store& inner, std::string stale, int opens)
      : ForwardingStore(inner), stale_(std::move(stale)), opens_(opens) {}
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    return ForwardingStore::open(path == "a" && opens_-- > 0 ? stale_ : path, access);
  }
  FileSystemTraits traits(const std::string&) override { return {}; }

 private:
  const std::string stale_;
  int opens_;
};

TEST(CommitReaders, OnHostsWithOldNamesLookAgain) {
  for (const bool committing : {false, true}) {
    MemoryStore memory;
    write_generation(memory, "a", 1, 2);
    memory.set_contents("before", memory.contents("a"));
    write_generation(memory, "a", 2, 2);
    if (committing) {
      // Meanwhile the other host has created a record and renamed a file.
      const std::string temporary = new_temporary_name(memory, "a");
      write_generation(memory, temporary, 2, 2);
      const auto identity = read_identity(*memory.open(temporary, Access::read)).value();
      const format::CommitRecord record{
          .nfiles = 2, .identity = identity, .number = format::parse_temporary_name(temporary)->number};
      memory.set_contents("a", format::encode(record));
      memory.rename(temporary + ".000001", "a.000001");
    }
    StaleStore serial(memory, "before", 5), group(memory, "before", 12);
    EXPECT_EQ(generation_of(serial, "a"), 2);
    EXPECT_EQ(by_group(group, "a"), 2);
  }
}

}  // namespace
}  // namespace sheaf::test::commit_readers_test
