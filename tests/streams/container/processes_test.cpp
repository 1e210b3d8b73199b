// Processes that share a set and may be killed. The other processes must see each change, and written data
// must survive.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "streams/container/container_names.hpp"
#include "streams/container/gather.hpp"
#include "streams/container/set_model.hpp"
#include "support/stores/memory_store.hpp"
#include "support/variable.hpp"

namespace sheaf::test {

using namespace streams;

namespace {

class SetDirectory {
 public:
  SetDirectory()
      : path_(std::filesystem::temp_directory_path() / ("sheaf-set-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~SetDirectory() { std::filesystem::remove_all(path_); }
  std::string set() const { return (path_ / "set").string(); }

 private:
  const std::filesystem::path path_;
};

template <class Work>
pid_t start(Work work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  int code = 1;
  try {
    work();
    code = 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
  ::_exit(code);
}

bool ended_well(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ContainerProcesses, EachSeesAtOnceWhatOthersDo) {
  const SetDirectory directory;
  const auto set = ContainerSet::open(posix_store(), directory.set());
  set->open_stream("kept", {.create = true})->append(content(1, 5000));
  set->open_stream("old", {.create = true})->append(content(2, 100));
  ASSERT_TRUE(ended_well(start([&] {
    const auto other = ContainerSet::open(posix_store(), directory.set());
    const auto kept = other->open_stream("kept", {.write = true});
    require(kept != nullptr && read_all(*kept) == content(1, 5000), "another process does not see the bytes");
    kept->append(content(3, 300));
    require(other->rename("old", "new"), "nothing to rename");
    require(other->shared(), "nobody else has the set open");
  })));
  EXPECT_EQ(set->status("kept")->size, 5300);
  EXPECT_FALSE(set->status("old"));
  EXPECT_EQ(set->status("new")->size, 100);
  EXPECT_EQ(containers_of(posix_store(), directory.set()).size(), 1u);
}

TEST(ContainerProcesses, NothingOfKilledProcessesStaysInMemoryOnceTheirContainerIsTakenIn) {
  const SetDirectory directory;
  const std::filesystem::path memory = std::filesystem::path(directory.set()).parent_path() / "memory";
  std::filesystem::create_directory(memory);
  const pid_t child = start([&] {
    const auto set = ContainerSet::open(posix_store(), directory.set(), {"", memory.string()});
    set->open_stream("kept", {.create = true})->append(content(1, 100));
    ::raise(SIGKILL);
  });
  EXPECT_FALSE(ended_well(child));
  EXPECT_FALSE(std::filesystem::is_empty(memory));
  multifile::WorkProgress quiet;
  EXPECT_EQ(
      gather(posix_store(), {.set = directory.set(), .memory_directory = memory.string()}, quiet).streams, 1);
  EXPECT_TRUE(std::filesystem::is_empty(memory));
}

TEST(ContainerProcesses, ForkedChildrenWriteForThemselves) {
  const SetDirectory directory;
  const auto set = ContainerSet::open(posix_store(), directory.set());
  const auto log = set->open_stream("log", {.create = true});
  log->append(content(0, 10));
  std::vector<pid_t> children;
  for (uint64_t k = 1; k <= 4; ++k)
    children.push_back(start([&] {
      for (int i = 0; i < 200; ++i) log->append(content(k, 10));
      set->open_stream("own" + std::to_string(k), {.create = true})->append(content(k, 3000));
    }));
  for (int i = 0; i < 200; ++i) log->append(content(0, 10));
  for (const pid_t child : children) EXPECT_TRUE(ended_well(child));
  const Bytes all = read_all(*log);
  ASSERT_EQ(all.size(), 10u * (1 + 5 * 200));
  std::map<Bytes, int> counts;
  for (size_t at = 0; at < all.size(); at += 10) ++counts[Bytes(all.begin() + at, all.begin() + at + 10)];
  for (uint64_t k = 1; k <= 4; ++k) {
    EXPECT_EQ(counts[content(k, 10)], 200);
    EXPECT_EQ(read_all(*set->open_stream("own" + std::to_string(k), {})), content(k, 3000));
  }
}

TEST(ContainerProcesses, AStreamThatWasRemovedIsReadAsLongAsItIsOpen) {
  const SetDirectory directory;
  const auto set = ContainerSet::open(posix_store(), directory.set());
  const auto stream = set->open_stream("a", {.create = true});
  stream->append(content(1, 200000));
  ASSERT_TRUE(ended_well(
      start([&] { require(ContainerSet::open(posix_store(), directory.set())->remove("a"), "not there"); })));
  EXPECT_FALSE(set->status("a"));
  EXPECT_EQ(read_all(*stream), content(1, 200000));
  EXPECT_FALSE(stream->status().linked);
  const auto again = set->open_number(stream->status().number);
  ASSERT_TRUE(again);
  EXPECT_EQ(read_all(*again), content(1, 200000));
}

TEST(ContainerProcesses, ASetThatIsOpenIsNotGatheredWhateverItIsCalled) {
  namespace fs = std::filesystem;
  const SetDirectory directory;
  const fs::path folder = fs::path(directory.set()).parent_path();
  fs::create_directory(folder / "sub");
  fs::create_directory_symlink(folder, folder / "link");
  fs::create_symlink("set", folder / "other");
  multifile::WorkProgress quiet;
  {
    const auto set = ContainerSet::open(posix_store(), directory.set());
    set->open_stream("a", {.create = true})->append(content(1, 10));
    for (const char* const name : {"", "set", "./set", "sub/../set", "link/set", "other"})
      EXPECT_THROW(
          gather(posix_store(), {.set = directory.set(), .output = *name ? folder / name : ""}, quiet), Error)
          << name;
    EXPECT_FALSE(fs::exists(directory.set()));
  }
  EXPECT_EQ(gather(posix_store(), {.set = directory.set()}, quiet).streams, 1);
  EXPECT_TRUE(containers_of(posix_store(), directory.set()).empty());
}

// The shared memory cannot grow when a process takes in a stream of another host. In one case the process
// gets an error, in another it is killed. The stream must be taken in later.
TEST(ContainerProcesses, AStreamOfAnotherHostThatCouldNotBeTakenInIsTakenInLater) {
  for (const bool is_killed : {false, true}) {
    MemoryStore memory;
    const std::string name = "taken" + std::to_string(is_killed);
    const auto a = ContainerSet::open(memory, "set", {name + "a", "/dev/shm"});
    const auto b = ContainerSet::open(memory, "set", {name + "b", "/dev/shm"});
    const auto stream = a->open_stream("x", {.create = true});
    for (int64_t k = 0; k < 20000; ++k) stream->write(content(1, 1), 10 * k);
    stream->flush();
    b->open_stream("own", {.create = true});
    const pid_t child = start([&] {
      ::signal(SIGXFSZ, is_killed ? SIG_DFL : SIG_IGN);
      const rlimit limit{rlim_t{600} << 10, RLIM_INFINITY};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      b->status("x");
    });
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(is_killed, WIFSIGNALED(status));
    EXPECT_NE(status, 0) << "there is memory enough";
    EXPECT_TRUE(b->status("x"));
    EXPECT_TRUE(b->remove("x"));
    EXPECT_FALSE(b->status("x"));
  }
}

// The progress of a writer, in memory that outlives it.
struct Told {
  std::atomic<int64_t> finished;  // closed streams
  std::atomic<int64_t> written;   // bytes written to the open stream
};

constexpr int writers = 3;

void write_until_killed(const std::string& path, int writer, int round, Told& told) {
  const auto set = ContainerSet::open(posix_store(), path);
  for (int64_t k = told.finished;; ++k) {
    told.written = 0;
    const uint64_t seed = static_cast<uint64_t>(writer * 1000000 + round * 10000 + k);
    const Bytes bytes = content(seed, 100 + seed * 7919 % 40000);
    const auto stream =
        set->open_stream("w" + std::to_string(writer) + "." + std::to_string(round) + "." + std::to_string(k),
                         {.create = true});
    for (size_t done = 0; done < bytes.size();) {
      const size_t part = std::min<size_t>(bytes.size() - done, 1 + (seed + done) % 3000);
      stream->append(std::span(bytes).subspan(done, part));
      done += part;
      told.written = static_cast<int64_t>(done);
    }
    stream->flush();
    if (k % 3 == 2) {
      const std::string gone =
          "w" + std::to_string(writer) + "." + std::to_string(round) + "." + std::to_string(k - 1);
      require(set->rename(gone, gone + ".renamed"), "a stream is gone");
    }
    told.finished = k + 1;
  }
}

void check_killed(const std::string& path, int round, Told* told) {
  const auto seen = NamedStreams::open(posix_store(), path);
  const auto live = ContainerSet::open(posix_store(), path);
  for (int writer = 0; writer < writers; ++writer)
    for (int64_t k = 0; k <= told[writer].finished; ++k) {
      const std::string name =
          "w" + std::to_string(writer) + "." + std::to_string(round) + "." + std::to_string(k);
      auto number = seen->find(name);
      const std::string is_called = number ? name : name + ".renamed";
      if (!number) number = seen->find(is_called);
      const bool is_open = k == told[writer].finished;
      require(number || is_open, name + " is not there, but was closed");
      if (!number) continue;
      const uint64_t seed = static_cast<uint64_t>(writer * 1000000 + round * 10000 + k);
      Bytes right = content(seed, 100 + seed * 7919 % 40000);
      const Bytes found = read_all(*seen, *number);
      if (is_open)
        require(std::ssize(found) >= told[writer].written, "what was written of " + name + " is lost");
      require(found.size() <= right.size() && (is_open || found.size() == right.size()),
              name + " is too long or too short");
      right.resize(found.size());
      require(found == right, name + " has other bytes");
      const auto stream = live->open_stream(is_called, {});
      require(stream != nullptr && read_all(*stream) == found, name + " is another one for who writes");
    }
}

TEST(ContainerProcesses, KilledAtRandomMoments) {
  const SetDirectory directory;
  void* const memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Told* const told = static_cast<Told*>(memory);
  const uint64_t rounds = variable("SHEAF_KILL_ROUNDS", 40);
  std::mt19937_64 random(7);
  for (int round = 0; round < static_cast<int>(rounds); ++round) {
    std::vector<pid_t> children;
    for (int writer = 0; writer < writers; ++writer) {
      told[writer].finished = told[writer].written = 0;
      children.push_back(
          start([&, writer] { write_until_killed(directory.set(), writer, round, told[writer]); }));
    }
    for (const pid_t child : children) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
      ::kill(child, SIGKILL);
      int status = 0;
      ::waitpid(child, &status, 0);
      ASSERT_TRUE(WIFSIGNALED(status)) << "a writer has ended by itself";
    }
    try {
      check_killed(directory.set(), round, told);
    } catch (const std::exception& e) {
      FAIL() << "round " << round << ": " << e.what();
    }
  }
  ::munmap(memory, 4096);
}

}  // namespace
}  // namespace sheaf::test
