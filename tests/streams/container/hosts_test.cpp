// Hosts without a common page cache. No two hosts may write the same file, and every host must find what
// another host has closed.
#include <gtest/gtest.h>

#include "streams/container/container_names.hpp"
#include "streams/container/gather.hpp"
#include "streams/container/set_model.hpp"
#include "support/hosts_store.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::test {

using namespace streams;

namespace {

class ContainerCluster {
 public:
  ContainerCluster(int hosts, uint64_t seed) : world_({.seed = seed, .pressure = 7}) {
    for (int host = 0; host < hosts; ++host) {
      stores_.push_back(std::make_unique<HostsStore>(world_, host, host));
      const std::string name = "s" + std::to_string(seed) + "h" + std::to_string(host);
      sets_.push_back(ContainerSet::open(*stores_.back(), "dir/set", {name, "/dev/shm"}));
    }
  }
  ContainerSet& set(int host) { return *sets_[static_cast<size_t>(host)]; }
  Store& store(int host) { return *stores_[static_cast<size_t>(host)]; }
  HostsCounts counts() const { return world_.counts(); }
  void leave() { sets_.clear(); }

 private:
  SimulatedHosts world_;
  std::vector<std::unique_ptr<HostsStore>> stores_;
  std::vector<std::shared_ptr<ContainerSet>> sets_;
};

void put(ContainerSet& set, const std::string& name, const Bytes& bytes, bool append = false) {
  const auto stream = set.open_stream(name, {.create = true, .truncate = !append});
  stream->append(bytes);
  stream->flush();
}

TEST(ContainerHosts, WhatWasClosedIsFoundElsewhere) {
  ContainerCluster cluster(3, 1);
  put(cluster.set(0), "a", content(1, 5000));
  EXPECT_EQ(get(cluster.set(1), "a"), content(1, 5000));
  put(cluster.set(1), "a", content(2, 300), true);
  Bytes both = content(1, 5000);
  const Bytes more = content(2, 300);
  both.insert(both.end(), more.begin(), more.end());
  EXPECT_EQ(get(cluster.set(2), "a"), both);
  EXPECT_EQ(get(cluster.set(0), "a"), both);
  EXPECT_TRUE(cluster.set(2).rename("a", "b"));
  EXPECT_FALSE(cluster.set(0).status("a"));
  EXPECT_EQ(get(cluster.set(1), "b"), both);
  put(cluster.set(0), "b", content(3, 10));
  EXPECT_EQ(get(cluster.set(2), "b"), content(3, 10));
  EXPECT_TRUE(cluster.set(1).remove("b"));
  EXPECT_FALSE(cluster.set(0).status("b"));
}

TEST(ContainerHosts, PermissionsAndTimesAreFoundElsewhere) {
  ContainerCluster cluster(2, 5);
  put(cluster.set(0), "a", content(1, 100));
  put(cluster.set(1), "own", content(1, 1));
  EXPECT_TRUE(cluster.set(1).status("a"));
  EXPECT_TRUE(cluster.set(0).set("a", {.mode = 0600, .modified = {}}));
  EXPECT_EQ(cluster.set(1).status("a")->mode, 0600u);
  const auto open = cluster.set(0).open_stream("a", {.write = true});
  open->set({.mode = {}, .modified = 12345});
  open->flush();
  EXPECT_EQ(cluster.set(1).status("a")->modified, 12345);
}

TEST(ContainerHosts, WhatOthersHaveDoneIsTheTimeOfTheLastChange) {
  ContainerCluster cluster(2, 6);
  put(cluster.set(0), "a", content(1, 100));
  put(cluster.set(1), "own", content(1, 1));
  EXPECT_EQ(cluster.set(1).status("a")->size, 100);
  put(cluster.set(0), "a", content(2, 50), true);
  const auto seen = cluster.set(1).status("a");
  EXPECT_EQ(seen->size, 150);
  EXPECT_EQ(seen->changed, cluster.set(0).status("a")->changed);
}

// Two users, or two software containers, of one host share files but no memory. Each must find at once what
// the other has closed.
TEST(ContainerHosts, WhatWasClosedIsFoundAtOnceOnALocalFileSystemToo) {
  MemoryStore memory;
  const auto a = ContainerSet::open(memory, "set", {"locala", "/dev/shm"});
  const auto b = ContainerSet::open(memory, "set", {"localb", "/dev/shm"});
  put(*a, "first", content(1, 100));
  put(*b, "own", content(1, 1));
  EXPECT_TRUE(b->status("first"));
  put(*a, "second", content(2, 100));
  EXPECT_TRUE(b->status("second"));
  put(*a, "second", content(3, 50), true);
  EXPECT_EQ(get(*b, "second").size(), 150u);
  EXPECT_THROW(b->open_stream("first", {.create = true, .exclusive = true}), Error);
}

TEST(ContainerHosts, WhoHasNotHeardOfAnotherNameWritesToTheStreamThatHasIt) {
  ContainerCluster cluster(2, 7);
  put(cluster.set(1), "own", content(1, 1));
  for (const char* const name : {"renamed", "removed"}) put(cluster.set(0), name, content(1, 100));
  for (const char* const name : {"renamed", "removed"}) EXPECT_TRUE(cluster.set(1).status(name));
  cluster.set(0).rename("renamed", "new");
  cluster.set(0).remove("removed");
  for (const char* const name : {"renamed", "removed"}) {
    const auto stream = cluster.set(1).open_stream(name, {.asked = true, .write = true});
    stream->append(content(2, 10));
    stream->flush();
  }
  for (const int host : {0, 1}) {
    EXPECT_EQ(cluster.set(host).status("new")->size, 110) << host;
    EXPECT_FALSE(cluster.set(host).status("renamed")) << host;
    EXPECT_FALSE(cluster.set(host).status("removed")) << host;
  }
  EXPECT_EQ(NamedStreams::open(cluster.store(0), "dir/set")->streams().size(), 2u);
}

// A stream that is created under the name after a removal must be a new stream.
TEST(ContainerHosts, AStreamThatTwoHostsHaveMadeIsRemovedByEither) {
  for (const int first : {0, 1}) {
    ContainerCluster cluster(2, 3 + static_cast<uint64_t>(first));
    ContainerSet &one = cluster.set(first), &other = cluster.set(1 - first);
    for (ContainerSet* const set : {&one, &other}) put(*set, "own", content(1, 1));
    for (ContainerSet* const set : {&one, &other})
      put(*set, "x", content(2, 100));  // creates without a check for other hosts
    EXPECT_EQ(get(one, "x"), content(2, 100));
    EXPECT_TRUE(other.status("x"));
    EXPECT_TRUE(other.remove("x"));
    EXPECT_FALSE(other.known("x"));
    EXPECT_FALSE(other.status("x"));
    EXPECT_FALSE(one.status("x"));
    put(other, "x", content(3, 200));
    EXPECT_EQ(get(other, "x"), content(3, 200));
    EXPECT_EQ(get(one, "x"), content(3, 200));
    Model model;
    model["own"] = std::make_shared<ModelStream>(ModelStream{.bytes = content(1, 1)});
    model["x"] = std::make_shared<ModelStream>(ModelStream{.bytes = content(3, 200)});
    require_seen(cluster.store(0), "dir/set", model);
  }
}

// Programs take turns: each closes its streams before the next one opens them.
TEST(ContainerHosts, RandomProgramsInTurn) {
  for (uint64_t seed = 10; seed < 60; ++seed) {
    ContainerCluster cluster(3, seed);
    Model model;
    std::mt19937_64 random(seed);
    try {
      for (int step = 0; step < 60; ++step) {
        ContainerSet& set = cluster.set(static_cast<int>(random() % 3));
        const std::string name = "n" + std::to_string(random() % 5);
        const uint64_t what = random() % 8;
        if (what == 0) {
          require(set.remove(name) == model.contains(name), "remove");
          model.erase(name);
        } else if (what == 1) {
          const std::string to = "n" + std::to_string(random() % 5);
          require(set.rename(name, to) == model.contains(name), "rename");
          if (model.contains(name) && to != name) {
            model[to] = model[name];
            model.erase(name);
          }
        } else if (what < 5) {
          const bool append = what != 2;
          const Bytes bytes = content(random(), 1 + random() % 9000);
          if (append) set.revalidate();
          put(set, name, bytes, append);
          auto& stream = model[name];
          if (!stream || !append) stream = std::make_shared<ModelStream>();
          stream->bytes.insert(stream->bytes.end(), bytes.begin(), bytes.end());
        } else if (model.contains(name)) {
          require(get(set, name) == model[name]->bytes, name + " has other bytes");
        } else {
          require(!set.status(name), name + " is there");
        }
      }
      require_seen(cluster.store(0), "dir/set", model);
      EXPECT_LE(containers_of(cluster.store(0), "dir/set").size(), 3u);
      EXPECT_EQ(cluster.counts().shared_units, 0);
      cluster.leave();
      multifile::WorkProgress quiet;
      if (!model.empty()) gather(cluster.store(0), {.set = "dir/set"}, quiet);
      require_seen(cluster.store(1), "dir/set", model);
    } catch (const std::exception& e) {
      FAIL() << "seed " << seed << ": " << e.what();
    }
  }
}

}  // namespace
}  // namespace sheaf::test
