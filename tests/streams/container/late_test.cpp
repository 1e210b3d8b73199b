// Updates that become visible late, out of order or incompletely: old records, areas out of order,
// interrupted writes, failing checks, and forks during a check.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <thread>

#include "format/container.hpp"
#include "storage/decorators/forwarding_file.hpp"
#include "storage/decorators/forwarding_store.hpp"
#include "streams/container/container_names.hpp"
#include "streams/container/set_model.hpp"
#include "support/hosts_store.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::test {

using namespace streams;

namespace {

// Decorator of a Store. Has the traits of a file system that several hosts write to, and lets a test
// intercept requests.
class Host final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  FileSystemTraits traits_of(File& file) override { return traits(file.path()); }
  FileSystemTraits traits(const std::string& path) override {
    FileSystemTraits traits = ForwardingStore::traits(path);
    traits.coherence = Coherence::close_to_open;
    return traits;
  }
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    if (on_open) on_open(path);
    auto file = ForwardingStore::open(path, access);
    return set_of_container(path) ? std::make_shared<Touched>(std::move(file), *this) : file;
  }
  std::vector<std::string> names_in(const std::string& directory) override {
    if (on_list) on_list();
    return ForwardingStore::names_in(directory);
  }

  std::function<void(const std::string&)> on_open;
  std::function<void()> on_list;
  std::function<void()> after_write;
  int64_t hidden_from = 0, hidden_to = 0;  // bytes of each container that are not visible yet

 private:
  class Touched final : public ForwardingFile {
   public:
    Touched(std::shared_ptr<File> file, Host& host) : ForwardingFile(std::move(file)), host_(host) {}
    size_t read_at(std::span<std::byte> data, int64_t offset) override {
      const size_t got = inner().read_at(data, offset);
      for (size_t i = 0; i < got; ++i)
        if (const int64_t at = offset + static_cast<int64_t>(i);
            at >= host_.hidden_from && at < host_.hidden_to)
          data[i] = std::byte{};
      return got;
    }
    void write_at(std::span<const std::byte> data, int64_t offset) override {
      inner().write_at(data, offset);
      if (const auto call = host_.after_write) call();  // a copy, because the function may replace itself
    }

   private:
    Host& host_;
  };
};

// Two hosts that share a file system.
struct Pair {
  explicit Pair(const std::string& name, Store& below)
      : a(below),
        b(below),
        set_a(ContainerSet::open(a, path, {name + "a", "/dev/shm"})),
        set_b(ContainerSet::open(b, path, {name + "b", "/dev/shm"})) {}
  std::string path = "set";
  Host a, b;
  std::shared_ptr<ContainerSet> set_a, set_b;
};

void add(ContainerSet& set, const std::string& name, const Bytes& bytes) {
  const auto stream = set.open_stream(name, {.create = true});
  stream->append(bytes);
  stream->flush();
}

TEST(ContainerLate, WhatWasWrittenBeforeAndClosedAfterwardsIsFound) {
  SimulatedHosts world({.seed = 1});
  std::vector<std::unique_ptr<HostsStore>> stores;
  std::vector<std::shared_ptr<ContainerSet>> sets;
  for (int host = 0; host < 4; ++host) {
    stores.push_back(std::make_unique<HostsStore>(world, host, host));
    sets.push_back(
        ContainerSet::open(*stores.back(), "dir/set", {"late" + std::to_string(host), "/dev/shm"}));
  }
  add(*sets[1], "s", content(1, 10));
  const auto of_a = sets[0]->open_stream("s", {.write = true});
  const auto of_c = sets[2]->open_stream("s", {.write = true});
  of_c->append(content(2, 300));
  of_a->append(content(3, 5));
  of_a->flush();
  Bytes expected = content(1, 10);
  const Bytes by_a = content(3, 5), by_c = content(2, 300);
  expected.insert(expected.end(), by_a.begin(), by_a.end());
  EXPECT_EQ(get(*sets[1], "s"), expected);
  of_c->flush();
  expected.insert(expected.end(), by_c.begin() + 5, by_c.end());
  EXPECT_EQ(get(*sets[1], "s"), expected);
  EXPECT_EQ(get(*sets[3], "s"), expected) << "who asks for the first time";
}

// Other hosts see the content of an area before the end mark of the preceding area. They must find all
// records.
TEST(ContainerLate, AreasOvertakeEachOther) {
  MemoryStore memory;
  Pair hosts("overtake", memory);
  constexpr int64_t first_area = 3 * format::container_page;
  hosts.b.hidden_from = first_area + 1000;
  hosts.b.hidden_to = first_area + format::container_page;
  const auto name = [](int k) { return "stream" + std::to_string(k); };
  constexpr int streams = 60;  // more than fit into the first area
  for (int k = 0; k < streams; ++k) {
    add(*hosts.set_a, name(k), content(static_cast<uint64_t>(k), 40));
    hosts.set_b->revalidate();
  }
  EXPECT_TRUE(hosts.set_b->status(name(streams - 1)));
  EXPECT_FALSE(hosts.set_b->status(name(20))) << "the test hides nothing";
  hosts.b.hidden_to = 0;
  for (int k = 0; k < streams; ++k)
    EXPECT_EQ(get(*hosts.set_b, name(k)), content(static_cast<uint64_t>(k), 40)) << k;
}

// A write succeeds and others read the record, but the writer gets an error. The writer must not overwrite
// the record.
TEST(ContainerLate, NobodyWritesOverWhatOthersHaveRead) {
  for (const bool killed : {false, true}) {
    const std::string path =
        std::filesystem::temp_directory_path() / ("sheaf-late-" + std::to_string(::getpid()));
    std::filesystem::create_directories(path);
    Host a(posix_store()), b(posix_store());
    const auto set_a = ContainerSet::open(a, path + "/set", {"cuta" + std::to_string(killed), "/dev/shm"});
    const auto set_b = ContainerSet::open(b, path + "/set", {"cutb" + std::to_string(killed), "/dev/shm"});
    add(*set_a, "first", content(1, 100));
    EXPECT_EQ(get(*set_b, "first"), content(1, 100));
    if (killed) {
      const pid_t child = ::fork();
      if (child == 0) {
        a.after_write = [] { ::kill(::getpid(), SIGKILL); };
        set_a->open_stream("cut short", {.create = true});
        ::_exit(0);
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      EXPECT_TRUE(WIFSIGNALED(status));
    } else {
      a.after_write = [&] {
        set_b->revalidate();
        a.after_write = nullptr;
        throw os_error("cannot write to", path, EIO);
      };
      EXPECT_THROW(set_a->open_stream("cut short", {.create = true}), Error);
    }
    set_b->revalidate();
    for (int k = 0; k < 3; ++k) {
      const std::string name = "a longer name " + std::to_string(k);
      add(*set_a, name, content(2, 50));
      EXPECT_EQ(get(*set_b, name), content(2, 50)) << name << ", killed: " << killed;
    }
    std::filesystem::remove_all(path);
  }
}

// Other hosts have read that an area has ended, but the write of the next area failed. The writer must not
// append to the ended area.
TEST(ContainerLate, NothingGoesIntoAnAreaThatHasEnded) {
  const auto long_name = [](int k) { return std::string(1500, 'n') + std::to_string(k); };
  for (int fails = 1; fails <= 4; ++fails) {
    MemoryStore memory;
    Pair hosts("ended" + std::to_string(fails), memory);
    for (int k = 0; k < 2; ++k) hosts.set_a->open_stream(long_name(k), {.create = true});
    int writes = 0;
    hosts.a.after_write = [&] {
      if (++writes == fails) throw os_error("cannot write to", "the container", ENOSPC);
    };
    EXPECT_THROW(hosts.set_a->open_stream(long_name(2), {.create = true}), Error) << fails;
    hosts.a.after_write = nullptr;
    hosts.set_b->revalidate();
    for (int k = 0; k < 5; ++k) {
      add(*hosts.set_a, std::to_string(k), content(3, 20));
      EXPECT_EQ(get(*hosts.set_b, std::to_string(k)), content(3, 20)) << k << ", write " << fails << " fails";
    }
  }
}

TEST(ContainerLate, ALookThatFailsIsTakenAgain) {
  MemoryStore memory;
  Pair hosts("again", memory);
  add(*hosts.set_a, "s", content(1, 100));
  add(*hosts.set_b, "own", content(1, 1));
  const auto open = hosts.set_b->open_stream("s", {.write = true});
  for (int fails = 1; fails <= 4; ++fails) {
    add(*hosts.set_a, "s", content(2, 10));
    int opens = 0;
    bool failed = false;
    hosts.b.on_open = [&](const std::string& path) {
      if (set_of_container(path) && ++opens == fails) {
        failed = true;
        throw os_error("cannot open", path, EIO);
      }
    };
    try {
      get(*hosts.set_b, "s");
    } catch (const Error& e) {
      EXPECT_EQ(e.errno_value(), EIO);
    }
    hosts.b.on_open = nullptr;
    EXPECT_EQ(get(*hosts.set_b, "s"), get(*hosts.set_a, "s")) << "open " << fails << ", failed: " << failed;
  }
}

TEST(ContainerLate, AChildMayAskThatWasForkedWhileAnotherThreadAsked) {
  MemoryStore memory;
  Pair hosts("fork", memory);
  add(*hosts.set_a, "s", content(1, 100));
  add(*hosts.set_b, "own", content(1, 1));
  std::atomic<bool> asks = false;
  hosts.b.on_list = [&] {
    asks = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  };
  std::jthread other([&] { hosts.set_b->revalidate(); });
  while (!asks) std::this_thread::yield();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    hosts.b.on_list = nullptr;
    ::_exit(hosts.set_b->status("s") ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "ended by signal " << WTERMSIG(status);
}

TEST(ContainerLate, ForksAndNewStreamsDoNotWaitForEachOther) {
  MemoryStore memory;
  Pair hosts("forks", memory);
  add(*hosts.set_a, "own", content(1, 1));
  std::atomic<bool> ends = false;
  std::vector<std::jthread> others;
  for (int k = 0; k < 2; ++k)
    others.emplace_back([&, name = "s" + std::to_string(k)] {
      while (!ends) {
        hosts.set_a->open_stream(name, {.create = true});
        hosts.set_a->remove(name);
      }
    });
  ::alarm(60);  // ends a test that hangs
  for (int k = 0; k < 300; ++k) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    int status = 0;
    ::waitpid(child, &status, 0);
  }
  ::alarm(0);
  ends = true;
}

}  // namespace
}  // namespace sheaf::test
