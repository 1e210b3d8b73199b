// Hosts that begin to write to a set while a tool gathers its containers into a multifile.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "storage/decorators/forwarding_file.hpp"
#include "storage/decorators/forwarding_store.hpp"
#include "streams/container/container_names.hpp"
#include "streams/container/gather.hpp"
#include "streams/container/set_model.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::test {

using namespace streams;

namespace {

Bytes joined(const Bytes& one, const Bytes& other) {
  Bytes all = one;
  all.insert(all.end(), other.begin(), other.end());
  return all;
}

const Bytes in_multifile = content(1, 100), added = content(2, 50);

// A set with "log" in the multifile and "other" in the container of one host. Host b has opened the set but
// has not written.
class Gathering {
 public:
  explicit Gathering(const std::string& name) : name_(name) {
    append(*host("a"), "log", in_multifile);
    gather(memory, {.set = "set"}, quiet);
    append(*host("a"), "other", in_multifile);
    b = host("b");
  }
  std::shared_ptr<ContainerSet> host(const std::string& which) {
    return ContainerSet::open(memory, "set", {name_ + which, "/dev/shm"});
  }
  Bytes seen(const std::string& name) {
    const auto streams = NamedStreams::open(memory, "set");
    const NamedStream* const stream = streams->find(name);
    require(stream != nullptr, name + " is not there");
    return read_all(*streams, *stream);
  }

  MemoryStore memory;
  multifile::WorkProgress quiet;
  std::shared_ptr<ContainerSet> b;

 private:
  const std::string name_;
};

struct BeginHook final : multifile::WorkProgress {
  explicit BeginHook(std::function<void()> work) : then(std::move(work)) {}
  void begin(int64_t) override { then(); }
  std::function<void()> then;
};

TEST(ContainerGathering, WhoBeginsToWriteMeanwhileIsNotPassedOver) {
  Gathering set("meanwhile");
  std::shared_ptr<ContainerStream> log;
  BeginHook begun([&] {
    log = set.b->open_stream("log", {.create = true});
    log->append(added);
    log->flush();
  });
  try {
    gather(set.memory, {.set = "set"}, begun);
    ADD_FAILURE() << "a container was passed over";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::wrong_mode);
  }
  EXPECT_EQ(containers_of(set.memory, "set").size(), 2u);
  log->append(added);
  log.reset();
  set.b.reset();
  const Bytes all = joined(joined(in_multifile, added), added);
  EXPECT_EQ(set.seen("log"), all);
  EXPECT_EQ(gather(set.memory, {.set = "set"}, set.quiet).streams, 2);
  EXPECT_EQ(set.seen("log"), all);
}

// Decorator of a Store. Calls a function after the tool's last check of the containers, before its rename.
class LastMoment final : public ForwardingStore {
 public:
  LastMoment(Store& inner, std::function<void()> then) : ForwardingStore(inner), then_(std::move(then)) {}
  void rename(const std::string& from, const std::string& to) override {
    then_();
    ForwardingStore::rename(from, to);
  }

 private:
  const std::function<void()> then_;
};

struct AtLast {
  std::function<void(ContainerSet&)> change;
  std::string name;  // name of the changed stream
  Bytes bytes;       // its bytes; empty: the stream is removed
};

TEST(ContainerGathering, WhoBeginsAtTheLastMomentWritesToTheNewMultifile) {
  const std::vector<AtLast> all{
      {[](ContainerSet& set) { append(set, "log", added); }, "log", joined(in_multifile, added)},
      {[](ContainerSet& set) { append(set, "other", added); }, "other", joined(in_multifile, added)},
      {[](ContainerSet& set) { set.rename("log", "old"); }, "old", in_multifile},
      {[](ContainerSet& set) { set.truncate("other", 50); }, "other",
       Bytes(in_multifile.begin(), in_multifile.begin() + 50)},
      {[](ContainerSet& set) { set.remove("log"); }, "log", {}}};
  std::vector<std::unique_ptr<Gathering>> sets;
  for (const AtLast& one : all) {
    Gathering& set = *sets.emplace_back(std::make_unique<Gathering>("last" + std::to_string(sets.size())));
    EXPECT_TRUE(set.b->status("log"));
    LastMoment store(set.memory, [&] { one.change(*set.b); });
    gather(store, {.set = "set"}, set.quiet);
    const auto streams = NamedStreams::open(set.memory, "set");
    EXPECT_EQ(streams->streams().size(), one.bytes.empty() ? 1u : 2u) << one.name;
    EXPECT_EQ(streams->find(one.name) != nullptr, !one.bytes.empty());
    set.b->revalidate();
    append(*set.b, one.name, added);
    EXPECT_EQ(set.seen(one.name), joined(one.bytes, added));
  }
  std::this_thread::sleep_for(
      std::chrono::milliseconds(1100));  // until the next check for changes of other hosts
  for (size_t k = 0; k < all.size(); ++k)
    EXPECT_EQ(get(*sets[k]->b, all[k].name), joined(all[k].bytes, added));
}

TEST(ContainerGathering, WhatWasSeenBeforeIsLookedForAgainByWhoBegins) {
  Gathering set("before");
  EXPECT_EQ(set.b->status("log")->size, 100);
  append(*set.host("a"), "log", added);
  gather(set.memory, {.set = "set"}, set.quiet);
  append(*set.b, "log", added);
  const Bytes all = joined(joined(in_multifile, added), added);
  EXPECT_EQ(get(*set.b, "log"), all);
  EXPECT_EQ(set.seen("log"), all);
}

// Calls a function before a container is locked.
class BeforeLocks final : public ForwardingStore {
 public:
  BeforeLocks(Store& inner, std::function<void()> then) : ForwardingStore(inner), then_(std::move(then)) {}
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    return std::make_shared<Locked>(ForwardingStore::open(path, access), then_);
  }

 private:
  class Locked final : public ForwardingFile {
   public:
    Locked(std::shared_ptr<File> file, std::function<void()>& then)
        : ForwardingFile(std::move(file)), then_(then) {}
    RangeLock lock_range(const LockRequest& wanted) override {
      if (const auto call = std::exchange(then_, nullptr)) call();
      return ForwardingFile::lock_range(wanted);
    }

   private:
    std::function<void()>& then_;
  };
  std::function<void()> then_;
};

TEST(ContainerGathering, WhoJoinsAContainerThatHasJustBeenTakenInMakesAnother) {
  Gathering set("joins");
  int gathered = 0;
  BeforeLocks store(set.memory, [&] {
    gather(set.memory, {.set = "set"}, set.quiet);
    ++gathered;
  });
  append(*ContainerSet::open(store, "set", {"joinsa", "/dev/shm"}), "late", added);
  EXPECT_EQ(gathered, 1);
  EXPECT_EQ(set.seen("late"), added);
  EXPECT_EQ(set.seen("other"), in_multifile);
}

TEST(ContainerGathering, WhoReadsTheMultifileSeesWhatItsHostDoesLater) {
  Gathering set("reads");
  const auto log = set.b->open_stream("log", {}), other = set.b->open_stream("other", {});
  EXPECT_EQ(log->status().size, 100);
  const auto writer = set.host("b");
  append(*writer, "log", added);
  EXPECT_EQ(log->status().size, 150);
  Bytes all(200);
  all.resize(log->read(all, 0));
  EXPECT_EQ(all, joined(in_multifile, added));
  EXPECT_EQ(log->next_hole(0), 150);
  writer->rename("log", "old");
  EXPECT_EQ(log->name(), "old");
  EXPECT_TRUE(other->status().linked);
  writer->remove("other");
  EXPECT_FALSE(other->status().linked);
  Bytes kept(200);
  kept.resize(other->read(kept, 0));
  EXPECT_EQ(kept, in_multifile);
}

TEST(ContainerGathering, StreamsOfTheMultifileHaveNumbersToo) {
  Gathering set("numbers");
  const uint64_t number = set.b->status("log")->number;
  for (const bool begun : {false, true}) {
    if (begun) append(*set.host("b"), "more", added);
    const auto log = set.host("b")->open_number(number);
    ASSERT_TRUE(log);
    Bytes all(200);
    all.resize(log->read(all, 0));
    EXPECT_EQ(all, in_multifile);
  }
  EXPECT_FALSE(set.b->open_number(number + 1000));
}

}  // namespace
}  // namespace sheaf::test
