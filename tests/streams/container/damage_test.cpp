// Damaged containers. A tool must not remove a container that it cannot read completely: the container must
// stay, or be kept under another name. Readers must report the missing data.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <ranges>

#include "format/container.hpp"
#include "streams/container/container_names.hpp"
#include "streams/container/gather.hpp"
#include "streams/container/set_model.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::test {

using namespace streams;

namespace {

constexpr const char* one_container = "set.container.h";
constexpr size_t guarded_header = 112;  // bytes covered by the header's checksum, and the checksum

void fill_set(ContainerSet& set) {
  for (const uint64_t k : {1, 2, 3}) {
    const auto stream = set.open_stream("stream " + std::to_string(k), {.create = true});
    stream->append(content(k, 300 * k));
    stream->flush();
    stream->append(content(k + 10, 20));
  }
  set.open_stream("old", {.create = true});
  set.rename("old", "new");
  set.open_stream("gone", {.create = true});
  set.remove("gone");
  set.truncate("stream 1", 100);
}

// Returns the bytes of a container. Its records were written to a log if `in_log`, and in mapped memory
// otherwise, if the file system supports that.
Bytes bytes_of_container(bool in_log) {
  if (in_log) {
    MemoryStore memory;
    fill_set(*ContainerSet::open(memory, "set", {"h", "/dev/shm"}));
    return memory.contents(one_container);
  }
  const auto folder = std::filesystem::temp_directory_path() / ("sheaf-damage-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  fill_set(*ContainerSet::open(posix_store(), folder / "set", {"h", "/dev/shm"}));
  std::ifstream file(folder / one_container, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove_all(folder);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::pair<std::string, int64_t>> names_and_sizes(Store& store) {
  std::vector<std::pair<std::string, int64_t>> all;
  const auto seen = NamedStreams::open(store, "set");
  for (const NamedStream& stream : seen->streams()) all.emplace_back(stream.name, stream.size);
  return all;
}

enum class GatherOutcome { complete, refused, kept };

GatherOutcome outcome(const Bytes& bytes, const std::vector<std::pair<std::string, int64_t>>& all) {
  MemoryStore memory;
  memory.set_contents(one_container, bytes);
  multifile::WorkProgress quiet;
  try {
    const GatherReport done = gather(memory, {.set = "set"}, quiet);
    require(containers_of(memory, "set").empty(), "the container is still there");
    if (!done.kept.empty()) {
      require(memory.contents("set.torn.h") == bytes, "what was kept is something else");
      return GatherOutcome::kept;
    }
    require(names_and_sizes(memory) == all, "not all is in the multifile");
    return GatherOutcome::complete;
  } catch (const Error&) {
    require(memory.contents(one_container) == bytes, "the container has changed");
    require(memory.paths().size() == 1, "there is more than the container");
    return GatherOutcome::refused;
  }
}

std::vector<std::pair<std::string, int64_t>> all_of(const Bytes& bytes) {
  MemoryStore memory;
  memory.set_contents(one_container, bytes);
  return names_and_sizes(memory);
}

TEST(ContainerDamage, NothingIsRemovedWhoseMetadataHaveChanged) {
  for (const bool in_log : {true, false}) {
    const Bytes whole = bytes_of_container(in_log);
    const auto all = all_of(whole);
    ASSERT_EQ(all.size(), 4u);
    ASSERT_EQ(outcome(whole, all), GatherOutcome::complete);
    int refused = 0, kept = 0;
    for (size_t at = 0; at < whole.size(); ++at) {
      if (whole[at] == std::byte{0} && at % 64 != 0) continue;
      Bytes changed = whole;
      changed[at] ^= std::byte{0x10};
      const GatherOutcome found = outcome(changed, all);
      if (at < guarded_header) {
        EXPECT_EQ(found, GatherOutcome::refused) << at;
      }
      refused += found == GatherOutcome::refused;
      kept += found == GatherOutcome::kept;
    }
    EXPECT_GT(refused, 400) << in_log;
    EXPECT_GT(kept, 0) << in_log;
  }
}

TEST(ContainerDamage, NothingIsRemovedThatWasCutOff) {
  for (const bool in_log : {true, false}) {
    const Bytes whole = bytes_of_container(in_log);
    const auto all = all_of(whole);
    for (size_t bytes = guarded_header; bytes < whole.size(); bytes += 97)
      if (const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
          std::ranges::any_of(whole | std::views::drop(bytes),
                              [](std::byte b) { return b != std::byte{0}; })) {
        EXPECT_EQ(outcome(cut, all), GatherOutcome::refused) << in_log << ", " << bytes;
      }
  }
}

TEST(ContainerDamage, BytesBehindTheEndAreNoZeros) {
  MemoryStore memory;
  {
    const auto set = ContainerSet::open(memory, "set", {"h", "/dev/shm"});
    for (const char* const stream : {"first", "last"})
      set->open_stream(stream, {.create = true})->append(content(1, 100000));
  }
  Bytes bytes = memory.contents(one_container);
  bytes.resize(bytes.size() - 80000);
  memory.set_contents(one_container, bytes);
  const auto seen = NamedStreams::open(memory, "set");
  Bytes part(1000);
  EXPECT_EQ(seen->read(*seen->find("first"), part, 0), part.size());
  EXPECT_THROW(seen->read(*seen->find("last"), part, 99000), Error);
  EXPECT_NE(seen->sources.front().damage, "");
  multifile::WorkProgress quiet;
  const GatherReport done = gather(memory, {.set = "set", .output = "other"}, quiet);
  EXPECT_GE(done.damage.size(), 2u);
  EXPECT_EQ(read_all(*NamedStreams::open(memory, "other"), 0).size(), 100000u);
}

TEST(ContainerDamage, AContainerWithADamagedHeaderOrTableIsNotWrittenOver) {
  for (const size_t place : {20, 4097}) {
    MemoryStore memory;
    Bytes bytes = bytes_of_container(true);
    bytes[place] ^= std::byte{1};
    memory.set_contents(one_container, bytes);
    EXPECT_THROW(ContainerSet::open(memory, "set", {"h", "/dev/shm"})->open_stream("new", {.create = true}),
                 Error);
    EXPECT_EQ(memory.contents(one_container), bytes);
  }
}

}  // namespace
}  // namespace sheaf::test
