// Writers that are killed at any moment: what they leave matches its checksums, or has none.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>

#include "comm/agree.hpp"
#include "container/set_model.hpp"
#include "container/unverified.hpp"
#include "storage/decorators/forwarding_store.hpp"
#include "support/variable.hpp"

namespace sheaf::test::sums_of_killed {
namespace {

// Records and words are writes.
class Unmapped final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  FileSystemTraits traits(const std::string& path) override {
    FileSystemTraits traits = ForwardingStore::traits(path);
    traits.mmap = false;
    return traits;
  }
};

const ContainerHost host{"killed", "/dev/shm"};
constexpr uint64_t writers = 2;

// To a stream of its own and to one that both write.
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

// `held`: this process shares the set meanwhile, so that what was in memory stays.
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
    }
    ASSERT_FALSE(problem) << "round " << round << ": " << problem->what();
    if (!held) {
      held = ContainerSet::open(store, path, host);
      stream = held->open_stream("both", {.create = true});
    }
  }
  // A kill leaves at most the blocks of one write without checksums.
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

}  // namespace
}  // namespace sheaf::test::sums_of_killed
