// A process is killed after it updated its container and before it updated the host's shared memory. The
// other processes of the host and readers of the containers must find the same state.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "storage/decorators/forwarding_file.hpp"
#include "storage/decorators/forwarding_store.hpp"
#include "streams/container/set_model.hpp"

namespace sheaf::test {

using namespace streams;

namespace {

// Decorator of a Store that maps no memory, so that write_at() writes records. The process ends at a chosen
// write.
class Deadly final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  FileSystemTraits traits(const std::string& path) override {
    FileSystemTraits traits = ForwardingStore::traits(path);
    traits.mmap = false;
    return traits;
  }
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    return std::make_shared<KillDuringChangeFile>(ForwardingStore::open(path, access), *this);
  }

  int writes_left = -1;  // writes until the process is killed; < 0: no limit
  bool before = false;   // kills before the last write, not after it

 private:
  class KillDuringChangeFile final : public ForwardingFile {
   public:
    KillDuringChangeFile(std::shared_ptr<File> file, Deadly& store)
        : ForwardingFile(std::move(file)), store_(store) {}
    void write_at(std::span<const std::byte> data, int64_t offset) override {
      const bool is_last = store_.writes_left > 0 && --store_.writes_left == 0;
      if (is_last && store_.before) ::kill(::getpid(), SIGKILL);
      ForwardingFile::write_at(data, offset);
      if (is_last) ::kill(::getpid(), SIGKILL);
    }

   private:
    Deadly& store_;
  };
};

std::map<std::string, Bytes> found_by(ContainerSet& set) {
  std::map<std::string, Bytes> found;
  set.list("", [&](std::string_view name, const StreamStatus&) { found[std::string(name)]; });
  for (auto& [name, bytes] : found) bytes = get(set, name);
  return found;
}

std::map<std::string, Bytes> found_by_readers(Store& store, const std::string& path) {
  std::map<std::string, Bytes> found;
  const auto seen = NamedStreams::open(store, path);
  for (size_t k = 0; k < seen->streams().size(); ++k) found[seen->streams()[k].name] = read_all(*seen, k);
  return found;
}

struct SetChange {
  std::string name;
  std::function<void(ContainerSet&)> make;
};

// Performs `change` in a child that is killed at the given write. Returns whether the child was killed.
bool happens_whole(const SetChange& change, int write, bool before, bool held) {
  const auto folder = std::filesystem::temp_directory_path() / ("sheaf-half-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::string path = folder / "set";
  Deadly store(posix_store());
  const ContainerHost host{"half", "/dev/shm"};
  const auto set = ContainerSet::open(store, path, host);
  for (const char* const name : {"x", "z"}) append(*set, name, content(1, 100));
  auto open = held ? set->open_stream("x", {.write = true}) : nullptr;
  const pid_t child = ::fork();
  if (child == 0) {
    store.writes_left = write;
    store.before = before;
    change.make(*set);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  try {
    if (open) open->append(content(2, 10));
  } catch (const Error& e) {
    EXPECT_EQ(e.errno_value(), ESTALE);
  }
  for (const char* const name : {"x", "z"}) append(*set, name, content(3, 50));
  append(*set, "another", content(4, 10));
  if (open) open->flush();
  open.reset();
  EXPECT_EQ(found_by(*set), found_by_readers(store, path))
      << change.name << ", killed " << (before ? "before" : "after") << " write " << write << ", held "
      << held;
  std::filesystem::remove_all(folder);
  return WIFSIGNALED(status);
}

TEST(ContainerHalfway, WhatAKilledProcessHasBegunIsTheSameForAll) {
  const auto copy = [](const ContainerSet::Leaving&, const StreamStatus&) {
    return std::pair<uint64_t, uint64_t>(1, 1);
  };
  const std::vector<SetChange> all{
      {"remove", [](ContainerSet& set) { set.remove("x"); }},
      {"rename", [](ContainerSet& set) { set.rename("x", "new"); }},
      {"rename over another", [](ContainerSet& set) { set.rename("x", "z"); }},
      {"move out", [&](ContainerSet& set) { set.move_out("x", "/elsewhere", copy); }}};
  for (const SetChange& change : all)
    for (const bool before : {false, true})
      for (const bool held : {false, true}) {
        int write = 1;
        while (happens_whole(change, write, before, held)) ++write;
        EXPECT_GT(write, 1) << change.name;
      }
}

}  // namespace
}  // namespace sheaf::test
