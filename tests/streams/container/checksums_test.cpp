// Checksums in containers (docs/format.md, section 19). Readers must report every change to the data, and
// nothing else.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "comm/agree.hpp"
#include "streams/container/gather.hpp"
#include "streams/container/set_model.hpp"
#include "streams/container/unverified.hpp"
#include "support/stores/memory_store.hpp"
#include "support/variable.hpp"

namespace sheaf::test::sums {

using namespace multifile;
using namespace streams;

namespace {

namespace fs = std::filesystem;

constexpr const char* one_container = "set.container.h";
constexpr int64_t version_at = 8;
const ContainerHost this_host{"h", "/dev/shm"};

// The directory in which a test program runs.
class ChecksumFolder {
 public:
  ChecksumFolder() : path_(fs::temp_directory_path() / ("sheaf-sums-" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~ChecksumFolder() { fs::remove_all(path_); }
  std::string set() const { return (path_ / "set").string(); }
  Bytes container() const {
    std::ifstream file(path_ / one_container, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }

 private:
  const fs::path path_;
};

class Flags {
 public:
  explicit Flags(const char* flags) { ::setenv("SHEAF_FLAGS", flags, 1); }
  ~Flags() { ::unsetenv("SHEAF_FLAGS"); }
};

// Writes streams as programs do: small, grown, overwritten, truncated, and with many blocks.
void fill_set(ContainerSet& set) {
  append(set, "small", content(1, 300));
  const auto grown = set.open_stream("grown", {.create = true});
  for (uint64_t k = 0; k < 60; ++k) grown->append(content(10 + k, 2900));
  grown->flush();
  const auto over = set.open_stream("over", {.create = true});
  over->append(content(2, 150000));
  for (int64_t k = 0; k < 20; ++k) over->write(content(100 + static_cast<uint64_t>(k), 64), 7000 * k);
  over->write(content(3, 100000), 20000);
  const auto cut = set.open_stream("cut", {.create = true});
  cut->append(content(4, 300000));
  cut->truncate(100000);
  cut->append(content(5, 50));
}

Bytes bytes_of_set(bool in_log) {
  if (in_log) {
    MemoryStore memory;
    fill_set(*ContainerSet::open(memory, "set", this_host));
    return memory.contents(one_container);
  }
  const ChecksumFolder folder;
  fill_set(*ContainerSet::open(posix_store(), folder.set(), this_host));
  return folder.container();
}

struct ContainerReading {
  std::map<std::string, std::pair<uint32_t, Bytes>> streams;
  std::string told;
};

// Reads a container with all checks.
ContainerReading seen_in(const Bytes& container) {
  MemoryStore memory;
  memory.set_contents(one_container, container);
  ContainerReading seen;
  if (const auto problem = attempt([&] {
        const auto streams = NamedStreams::open(memory, "set", true);
        for (const SetSource& source : streams->sources) seen.told += source.damage + source.torn;
        for (size_t k = 0; k < streams->streams().size(); ++k) {
          const NamedStream& one = streams->streams()[k];
          seen.streams[one.name] = {one.mode, read_all(*streams, k)};
        }
      }))
    seen.told += problem->what();
  return seen;
}

TEST(ContainerChecksums, NoFlipIsSilentThatChangesAStream) {
  const uint64_t flips = variable("SHEAF_CONTAINER_FLIPS", 300);
  std::mt19937_64 random(5);
  for (const bool in_log : {true, false}) {
    const Bytes whole = bytes_of_set(in_log);
    const ContainerReading right = seen_in(whole);
    ASSERT_EQ(right.told, "");
    ASSERT_EQ(right.streams.size(), 4u);
    std::vector<size_t> used;
    for (size_t at = 0; at < whole.size(); ++at)
      if (whole[at] != std::byte{0} || at % 512 == 0) used.push_back(at);
    uint64_t told = 0;
    for (uint64_t k = 0; k < flips / 2; ++k) {
      // Half of the flips hit metadata, which are at the start of areas.
      const size_t at = k % 2 == 0 ? used[random() % used.size()] : used[random() % (used.size() / 60)];
      Bytes changed = whole;
      changed[at] ^= static_cast<std::byte>(1 << random() % 8);
      const ContainerReading found = seen_in(changed);
      told += !found.told.empty();
      ASSERT_TRUE(!found.told.empty() || found.streams == right.streams)
          << "byte " << at << ", log " << in_log;
    }
    EXPECT_GT(told, flips / 4);
  }
}

// A set with a good stream and a stream of 200000 bytes with one changed byte.
class Damaged {
 public:
  Damaged() {
    {
      const auto set = ContainerSet::open(memory, "set", this_host);
      append(*set, "good", content(7, 1000));
      append(*set, "bad", whole);
    }
    Bytes container = memory.contents(one_container);
    const auto at = std::ranges::search(container, std::span(whole).subspan(70000, 100)).begin();
    *at ^= std::byte{4};
    memory.set_contents(one_container, container);
  }

  MemoryStore memory;
  const Bytes whole = content(8, 200000);
  WorkProgress quiet;
};

template <class Work>
std::string error_of(Work work) {
  const auto problem = attempt(work);
  return problem ? problem->what() : "";
}

constexpr const char* mismatch =
    "'set.container.h': the 65536 bytes from offset 65536 on of 'bad' do not match their checksum";

TEST(ContainerChecksums, AMismatchNamesFileStreamAndOffset) {
  Damaged one;
  Bytes part(100);
  const auto seen = NamedStreams::open(one.memory, "set");
  EXPECT_EQ(error_of([&] { seen->read(*seen->find("bad"), part, 100000); }), mismatch);
  EXPECT_EQ(error_of([&] { seen->read(*seen->find("bad"), part, 60000); }), "");
  EXPECT_EQ(error_of([&] { read_all(*seen, *seen->find("good")); }), "");
  const auto set = ContainerSet::open(one.memory, "set", this_host);
  const auto foreign = ContainerSet::open(one.memory, "set", {"other", "/dev/shm"});
  for (const auto& from : {set, foreign}) {
    const auto stream = from->open_stream("bad", {});
    EXPECT_EQ(error_of([&] { read_all(*stream); }), mismatch);
    EXPECT_EQ(stream->read(part, 140000), 100u);
  }
  append(*foreign, "its", content(1, 1));
  EXPECT_EQ(error_of([&] { get(*foreign, "bad"); }), mismatch);
}

TEST(ContainerChecksums, ReadersMayIgnoreThem) {
  Damaged one;
  const auto expect_all = [&](const Bytes& bytes) {
    ASSERT_EQ(bytes.size(), one.whole.size());
    EXPECT_NE(bytes, one.whole);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.begin() + 70000, one.whole.begin()));
  };
  const auto seen = NamedStreams::open(one.memory, "set", false, Checking::off);
  expect_all(read_all(*seen, *seen->find("bad")));
  expect_all(get(*ContainerSet::open(one.memory, "set", this_host, Checking::off), "bad"));
  const Flags flags("checksums=off");
  expect_all(get(*ContainerSet::open(one.memory, "set", this_host), "bad"));
  expect_all(get(*ContainerSet::open(one.memory, "set", {"other", "/dev/shm"}), "bad"));
}

TEST(ContainerChecksums, WritingOverOtherBytesOfABlockDoesNotHideItsDamage) {
  Damaged one;
  const auto set = ContainerSet::open(one.memory, "set", this_host);
  const auto stream = set->open_stream("bad", {.write = true});
  stream->write(content(1, 64), 66000);
  stream->write(content(2, 64), 120000);
  stream->flush();
  EXPECT_EQ(error_of([&] { get(*set, "bad"); }), mismatch);
  stream->write(content(3, 65536), 65536);  // the whole block
  stream->flush();
  EXPECT_EQ(error_of([&] { get(*set, "bad"); }), "");
  EXPECT_EQ(unverified_bytes(one.memory, "set"), 0);
}

TEST(ContainerChecksums, CuttingABlockDoesNotHideItsDamage) {
  Damaged one;
  const auto set = ContainerSet::open(one.memory, "set", this_host);
  set->truncate("bad", 100000);
  EXPECT_NE(error_of([&] { get(*set, "bad"); }), "");
}

TEST(ContainerChecksums, DamageIsNotMadeRightByAMultifile) {
  Damaged one;
  const Bytes before = one.memory.contents(one_container);
  EXPECT_TRUE(error_of([&] { gather(one.memory, {.set = "set"}, one.quiet); }).starts_with(mismatch));
  EXPECT_EQ(one.memory.contents(one_container), before);
  EXPECT_EQ(one.memory.paths(), std::vector<std::string>{one_container});
  const GatherReport done = gather(one.memory, {.set = "set", .output = "other"}, one.quiet);
  EXPECT_EQ(done.damage, std::vector<std::string>{mismatch});
  const auto made = NamedStreams::open(one.memory, "other");
  EXPECT_EQ(read_all(*made, *made->find("good")), content(7, 1000));
  EXPECT_NE(error_of([&] { read_all(*made, *made->find("bad")); }), "");
  gather(one.memory, {.set = "set", .output = "ignoring", .checking = Checking::off}, one.quiet);
  const auto ignoring = NamedStreams::open(one.memory, "ignoring");
  EXPECT_EQ(read_all(*ignoring, *ignoring->find("bad")).size(), one.whole.size());
}

// A multifile made from a damaged container must report the damage, although its blocks start at other
// offsets.
TEST(ContainerChecksums, DamageIsNotMadeRightByAMultifileWithOtherBlocks) {
  MemoryStore memory;
  WorkProgress quiet;
  {
    const auto set = ContainerSet::open(memory, "set", this_host);
    set->open_stream("a", {.create = true})->write(content(1, 200000), 1000);
  }
  Bytes container = memory.contents(one_container);
  const Bytes begin = content(1, 200000);
  const auto at = std::ranges::search(container, std::span(begin).first(100)).begin() + 66000;
  *at ^= std::byte{1};
  memory.set_contents(one_container, container);
  EXPECT_THROW(gather(memory, {.set = "set"}, quiet), Error);
  EXPECT_FALSE(gather(memory, {.set = "set", .output = "other"}, quiet).damage.empty());
  EXPECT_NE(error_of([&] { read_all(*NamedStreams::open(memory, "other"), 0); }), "");
}

TEST(ContainerChecksums, AMultifileOfSoundContainersIsSound) {
  MemoryStore memory;
  WorkProgress quiet;
  fill_set(*ContainerSet::open(memory, "set", this_host));
  const ContainerReading right = seen_in(memory.contents(one_container));
  gather(memory, {.set = "set"}, quiet);
  const auto made = NamedStreams::open(memory, "set");
  for (size_t k = 0; k < made->streams().size(); ++k)
    EXPECT_EQ(read_all(*made, k), right.streams.at(made->streams()[k].name).second);
}

TEST(ContainerChecksums, APieceGetsMoreSlotsAsItGrows) {
  const ChecksumFolder folder;
  for (const bool in_log : {true, false}) {
    MemoryStore memory;
    Store& store = in_log ? static_cast<Store&>(memory) : posix_store();
    const std::string path = in_log ? "set" : folder.set();
    Bytes all;
    {
      const auto set = ContainerSet::open(store, path, this_host);
      const auto stream = set->open_stream("a", {.create = true});
      for (uint64_t k = 0; k < 60; ++k) {
        const Bytes part = content(k, 1000 + 7919 * k);
        stream->append(part);
        all.insert(all.end(), part.begin(), part.end());
      }
      stream->flush();
      EXPECT_EQ(unverified_bytes(store, path), 0);
      EXPECT_EQ(get(*set, "a"), all);
    }
    const auto set = ContainerSet::open(store, path, this_host);
    const auto stream = set->open_stream("a", {.write = true});
    for (size_t at = 500; at + 9000 < all.size(); at += 300000) {
      const Bytes part = content(at, at % 7 == 0 ? 9000 : 10);
      stream->write(part, static_cast<int64_t>(at));
      std::ranges::copy(part, all.begin() + static_cast<std::ptrdiff_t>(at));
    }
    stream->flush();
    EXPECT_EQ(unverified_bytes(store, path), 0);
    EXPECT_EQ(read_all(*NamedStreams::open(store, path), 0), all);
  }
}

TEST(ContainerChecksums, AContainerWithoutThemIsContinuedWithoutThem) {
  MemoryStore memory;
  {
    const Flags flags("checksums=off");
    append(*ContainerSet::open(memory, "set", this_host), "a", content(1, 100000));
  }
  EXPECT_EQ(memory.contents(one_container)[version_at], std::byte{1});
  const auto set = ContainerSet::open(memory, "set", this_host);
  const auto stream = set->open_stream("a", {.write = true});
  stream->append(content(2, 100000));
  stream->write(content(3, 70000), 1000);
  stream->truncate(150000);
  stream->flush();
  EXPECT_EQ(memory.contents(one_container)[version_at], std::byte{1});
  EXPECT_EQ(unverified_bytes(memory, "set"), 150000);
  EXPECT_EQ(read_all(*NamedStreams::open(memory, "set"), 0), get(*set, "a"));
}

TEST(ContainerChecksums, AContainerOfALaterVersionIsRefused) {
  MemoryStore memory;
  format::ContainerHeader header{.host = "h", .version = 3};
  const auto bytes = encode(header);
  memory.set_contents(one_container, bytes);
  EXPECT_NE(error_of([&] { read_container(memory, one_container); }).find("version 3"), std::string::npos);
}

// When a stream is cut or removed, the file system gets its bytes back. Programs that opened the stream
// before must read zeros and report no mismatch.
TEST(ContainerChecksums, WhoHasOpenedAStreamThatIsCutOrRemovedSeesNoMismatch) {
  const ChecksumFolder folder;
  const auto set = ContainerSet::open(posix_store(), folder.set(), this_host);
  for (const int64_t size : {int64_t{0}, int64_t{100000}, int64_t{-1}}) {
    append(*set, "a", content(1, 400000));
    const auto other = ContainerSet::open(posix_store(), folder.set(), {"other", "/dev/shm"});
    const auto before = other->open_stream("a", {});
    const auto seen = NamedStreams::open(posix_store(), folder.set());
    size < 0 ? set->remove("a") : set->truncate("a", size);
    EXPECT_EQ(read_all(*seen, 0).size(), 400000u) << size;
    EXPECT_EQ(error_of([&] { read_all(*before); }), "") << size;
    EXPECT_EQ(unverified_bytes(posix_store(), folder.set()), 0) << size;
    if (size >= 0) set->remove("a");
  }
}

// Two processes write one stream; each continues the other's last block. All checksums must match.
TEST(ContainerChecksums, ProcessesOfAHostContinueEachOthersBlocks) {
  const ChecksumFolder folder;
  const auto set = ContainerSet::open(posix_store(), folder.set(), this_host);
  const auto stream = set->open_stream("a", {.create = true});
  stream->append(content(1, 1000));
  const pid_t child = ::fork();
  for (uint64_t k = 0; k < 300; ++k) {
    stream->append(content(k, 500));
    stream->write(content(k, 90), static_cast<int64_t>(k * 37 % 900));
    if (k % 10 == 0) stream->flush();
  }
  stream->flush();
  if (child == 0) ::_exit(0);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(stream->status().size, 1000 + 2 * 300 * 500);
  EXPECT_EQ(read_all(*NamedStreams::open(posix_store(), folder.set()), 0), read_all(*stream));
  EXPECT_EQ(unverified_bytes(posix_store(), folder.set()), 0);
}

// A read may occur between the write of bytes and the write of their checksum. It must report no mismatch.
TEST(ContainerChecksums, WhoReadsMeanwhileSeesNoMismatch) {
  const ChecksumFolder folder;
  for (const bool in_log : {true, false}) {
    MemoryStore memory;
    Store& store = in_log ? static_cast<Store&>(memory) : posix_store();
    const std::string path = in_log ? "set" : folder.set();
    const auto set = ContainerSet::open(store, path, this_host);
    const auto stream = set->open_stream("a", {.create = true});
    stream->append(content(0, 200000));
    stream->flush();
    std::atomic<bool> done = false;
    std::thread writer([&] {
      for (uint64_t k = 1; !done; ++k) {
        stream->write(content(k, 1 + k % 5000), static_cast<int64_t>(k * 7919 % 195000));
        if (k % 3 == 0) stream->append(content(k, 100));
        if (k % 5 == 0) stream->flush();
      }
    });
    std::string problem;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
    while (std::chrono::steady_clock::now() < end && problem.empty())
      problem = error_of([&] {
        read_all(*NamedStreams::open(store, path), 0);
        get(*ContainerSet::open(store, path, {"other", "/dev/shm"}), "a");
        get(*set, "a");
      });
    done = true;
    writer.join();
    EXPECT_EQ(problem, "");
  }
}

}  // namespace
}  // namespace sheaf::test::sums
