// Writers that are killed at any moment. Every block that they leave must match its checksum or have none.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>

#include "comm/agree.hpp"
#include "storage/decorators/forwarding_file.hpp"
#include "storage/decorators/forwarding_store.hpp"
#include "streams/container/set_model.hpp"
#include "streams/container/unverified.hpp"
#include "support/variable.hpp"

namespace sheaf::test::sums_of_killed {

using namespace streams;

namespace {

// Decorator of a Store that maps no memory, so that write_at() writes records and state words. The process
// ends at a chosen write.
class Unmapped final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  FileSystemTraits traits(const std::string& path) override {
    FileSystemTraits traits = ForwardingStore::traits(path);
    traits.mmap = false;
    return traits;
  }
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    return std::make_shared<KillAfterWritesFile>(ForwardingStore::open(path, access), *this);
  }

  int writes_left = -1;  // writes until the process is killed; < 0: no limit

 private:
  class KillAfterWritesFile final : public ForwardingFile {
   public:
    KillAfterWritesFile(std::shared_ptr<File> file, Unmapped& store)
        : ForwardingFile(std::move(file)), store_(store) {}
    void write_at(std::span<const std::byte> data, int64_t offset) override {
      ForwardingFile::write_at(data, offset);
      if (store_.writes_left > 0 && --store_.writes_left == 0) ::kill(::getpid(), SIGKILL);
    }

   private:
    Unmapped& store_;
  };
};

const ContainerHost host{"killed", "/dev/shm"};
constexpr uint64_t writers = 2;

// Writes to a stream of this writer and to a stream that all writers share, until a kill.
void write_for_ever(Store& store, const std::string& path, uint64_t writer, uint64_t seed) {
  const auto set = ContainerSet::open(store, path, host);
  std::mt19937_64 random(seed);
  const auto bytes = [&] {
    return content(random(), 1 + (random() % 4 == 0 ? random() % 90000 : random() % 900));
  };
  for (;;) {
    const std::string name = random() % 3 == 0 ? "both" : "own" + std::to_string(writer);
    const auto stream = set->open_stream(name, {.create = true});
    for (uint64_t steps = 1 + random() % 40; steps > 0; --steps) {
      const int64_t size = stream->status().size;
      if (size > 600000) stream->truncate(static_cast<int64_t>(random() % 400000));
      if (size == 0 || random() % 2 == 0)
        stream->append(bytes());
      else
        stream->write(bytes(), static_cast<int64_t>(random() % static_cast<uint64_t>(size)));
    }
    if (random() % 2 == 0) stream->flush();
  }
}

void require_no_mismatch(Store& store, const std::string& path) {
  const auto seen = NamedStreams::open(store, path);
  for (size_t k = 0; k < seen->streams().size(); ++k) read_all(*seen, k);
  const auto set = ContainerSet::open(store, path, host);
  for (const NamedStream& stream : seen->streams()) get(*set, stream.name);
}

// Kills writers in `rounds` rounds. In most rounds this process also has the set open (`held`), so that the
// shared memory survives the writers.
void kill_writers(Store& store, const std::string& path, uint64_t rounds, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::shared_ptr<ContainerSet> held;
  std::shared_ptr<ContainerStream> stream;
  for (uint64_t round = 0; round < rounds; ++round) {
    if (random() % 4 == 0) held.reset(), stream.reset();
    std::vector<pid_t> children;
    for (uint64_t writer = 0; writer < writers; ++writer) {
      const pid_t child = ::fork();
      if (child == 0) {
        attempt([&] { write_for_ever(store, path, writer, seed * 1000 + round * writers + writer); });
        ::_exit(1);
      }
      children.push_back(child);
    }
    std::optional<Error> problem;
    for (const pid_t child : children) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
      ::kill(child, SIGKILL);
      int status = 0;
      ::waitpid(child, &status, 0);
      EXPECT_TRUE(WIFSIGNALED(status)) << "a writer has ended by itself";
      if (!problem) problem = attempt([&] { require_no_mismatch(store, path); });
      if (problem && problem->code() == Code::not_found)
        problem.reset();  // killed before it created a container
    }
    ASSERT_FALSE(problem) << "round " << round << ": " << problem->what();
    if (!held) {
      held = ContainerSet::open(store, path, host);
      stream = held->open_stream("both", {.create = true});
    }
  }
  // Each kill may leave at most the blocks of one write without checksums.
  EXPECT_LE(unverified_bytes(store, path), static_cast<int64_t>(rounds * writers) * 3 * format::summed_block);
}

TEST(ContainerChecksumKills, NothingAcceptedIsTakenForDamage) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("sheaf-sumkill-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const uint64_t rounds = variable("SHEAF_CHECKSUM_KILLS", 20) / writers;
  Unmapped unmapped(posix_store());
  kill_writers(posix_store(), folder / "mapped", rounds, 1);
  kill_writers(unmapped, folder / "log", rounds, 2);
  std::filesystem::remove_all(folder);
}

// Kills a child within `change`; then this process continues the stream. Returns whether the child was
// killed.
bool matches_after(const std::function<void(ContainerStream&)>& change, int writes) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("sheaf-sumhalf-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::string path = folder / "set";
  Unmapped store(posix_store());
  const auto set = ContainerSet::open(store, path, host);
  const auto stream = set->open_stream("a", {.create = true});
  // Leaves space in the last piece for the appends of other processes.
  stream->append(content(1, 200000));
  append(*set, "between", content(1, 20000));
  stream->append(content(1, 65000));
  const pid_t child = ::fork();
  if (child == 0) {
    store.writes_left = writes;
    attempt([&] { change(*stream); });
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  const auto expect_match = [&](const char* when) {
    const auto problem = attempt([&] { require_no_mismatch(store, path); });
    EXPECT_FALSE(problem) << when << ", write " << writes << ": " << problem->what();
    EXPECT_LE(unverified_bytes(store, path), 2 * format::summed_block) << when;
  };
  expect_match("killed");
  stream->append(content(2, 10));
  expect_match("appended");
  stream->write(content(3, 100), 264990);
  stream->flush();
  expect_match("written over");
  std::filesystem::remove_all(folder);
  return WIFSIGNALED(status);
}

TEST(ContainerChecksumKills, AnotherProcessContinuesWhatAKilledOneHasBegun) {
  const std::vector<std::function<void(ContainerStream&)>> all{
      [](ContainerStream& stream) { stream.append(content(4, 100)); },
      [](ContainerStream& stream) { stream.append(content(5, 1000)); },
      [](ContainerStream& stream) { stream.append(content(6, 100000)); },
      [](ContainerStream& stream) { stream.write(content(7, 100), 200500), stream.flush(); },
      [](ContainerStream& stream) { stream.append(content(8, 1000)), stream.write(content(9, 900), 265000); },
      [](ContainerStream& stream) { stream.append(content(10, 1000)), stream.truncate(265100); },
  };
  for (size_t k = 0; k < all.size(); ++k) {
    SCOPED_TRACE(k);
    int writes = 1;
    while (matches_after(all[k], writes)) ++writes;
    EXPECT_GT(writes, 2);
  }
}

}  // namespace
}  // namespace sheaf::test::sums_of_killed
