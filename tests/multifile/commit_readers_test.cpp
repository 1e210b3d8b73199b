// Readers that open a multifile while another program commits one generation after the other: each operation
// on names of one of them may come between any two of the others.
#include <gtest/gtest.h>

#include <deque>

#include "creation/commit.hpp"
#include "support/generations.hpp"
#include "tools/verify.hpp"

namespace sheaf::test::commit_readers_test {
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

// One program that commits, and groups of tasks that read.
class Race {
 public:
  explicit Race(const std::deque<MemoryStore>& generations) : generations_(generations) { put("a", 1); }

  // Task 0 commits; 1 reads all tasks, 2 one task; 3 verifies; 4 and 5 read mapped; 6 to 10 as a group.
  static constexpr int tasks = 11;
  void run(Comm& comm) {
    const int rank = comm.rank();
    const auto own = comm.split(rank < 4 ? rank : rank < 6 ? 4 : 5, rank);
    if (rank == 0) return commit_all();
    for (int turn = 0; !done(*own); ++turn) {
      const int64_t committed = same_for_all(*own, committed_);
      const int found = rank == 1   ? generation_of(store_, "a")
                        : rank == 2 ? one_task(turn)
                        : rank == 3 ? verified()
                        : rank < 6  ? read_mapped_generation(store_, *own, "a")
                                    : read_as_group(store_, *own, "a", turn % 2 ? "r,collective" : "r");
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
  int64_t committed_ = 1;
};

TEST(CommitReaders, FindOneGenerationAtATime) {
  std::deque<MemoryStore> generations(last_generation + 1);
  for (int g = 1; g <= last_generation; ++g)
    write_generation(generations[static_cast<size_t>(g)], "a", g, files_of(g));
  int reads = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Race race(generations);
    run_fibers(fibers(Race::tasks, seed), [&](Comm& comm) { race.run(comm); });
    reads += race.reads;
  }
  EXPECT_GT(reads, 1000);
}

}  // namespace
}  // namespace sheaf::test::commit_readers_test
