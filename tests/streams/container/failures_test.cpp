// Failing system calls, and programs that die after any number of changes to the files. No accepted byte may
// be lost.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "comm/agree.hpp"
#include "storage/decorators/forwarding_file.hpp"
#include "storage/decorators/forwarding_store.hpp"
#include "streams/container/container_names.hpp"
#include "streams/container/gather.hpp"
#include "streams/container/set_model.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/stores/memory_store.hpp"
#include "support/stores/recording_store.hpp"

namespace sheaf::test {

using namespace multifile;
using namespace streams;

namespace {

FaultPlan plan_of(int64_t k, bool half) {
  FaultPlan plan;
  plan.fail_at = k;
  plan.errno_value = ENOSPC;
  plan.half_first = half;
  return plan;
}

// A program whose steps succeed or are refused. The model has the accepted bytes.
class CarefulProgram {
 public:
  CarefulProgram(Store& store, const std::string& path, const std::string& host)
      : set_(ContainerSet::open(store, path, {host, "/dev/shm"})) {}

  // The program calls it after each step, with the state that is certain from then on.
  using Done = std::function<void(const Model&)>;

  void run(uint64_t seed, const Done& done) {
    std::mt19937_64 random(seed);
    for (int step = 0; step < 25; ++step) {
      const std::string name = "n" + std::to_string(random() % 6);
      const uint64_t what = random() % 8;
      const std::string to = "n" + std::to_string(random() % 6);
      Model next = copy(model_);
      const auto found = next.find(name);
      try {
        if (what == 0) {
          set_->remove(name);
          next.erase(name);
        } else if (what == 1) {
          if (set_->rename(name, to) && to != name) {
            next[to] = next[name];
            next.erase(name);
          }
        } else if (what == 2 && found != next.end()) {
          const size_t size = random() % 6000;
          found->second->bytes.resize(size);
          set_->truncate(name, static_cast<int64_t>(size));
        } else {
          write(next, name, content(random(), 1 + random() % 9000));
        }
        model_ = next;
      } catch (const Error&) {
        unsure_.insert(name);  // after a refused call, its stream has the old or the new state
        if (what == 1) unsure_.insert(to);
        return;
      }
      done(model_);
    }
  }

  const Model& model() const { return model_; }
  const std::set<std::string>& unsure() const { return unsure_; }

 private:
  static Model copy(const Model& from) {
    Model made;
    for (const auto& [name, stream] : from) made[name] = std::make_shared<ModelStream>(*stream);
    return made;
  }

  void write(Model& next, const std::string& name, const Bytes& bytes) {
    const auto stream = set_->open_stream(name, {.create = true});
    auto& model = next[name];
    if (!model) model = std::make_shared<ModelStream>();
    const int64_t done = stream->append(bytes).bytes;
    stream->flush();  // throws if bytes are missing
    require(done == std::ssize(bytes), "a part of a write was accepted, and the close says nothing");
    model->bytes.insert(model->bytes.end(), bytes.begin(), bytes.end());
  }

  const std::shared_ptr<ContainerSet> set_;
  Model model_;
  std::set<std::string> unsure_;
};

bool holds(const NamedStreams& seen, const std::string& name, const ModelStream& stream) {
  const NamedStream* const found = seen.find(name);
  return found != nullptr && read_all(seen, *found) == stream.bytes;
}

// Requires that everything readable after failures and deaths of programs is in the multifile.
void gather_refusing_nothing(Store& store, int64_t k) {
  const auto before = NamedStreams::open(store, "dir/set", true);
  for (const SetSource& source : before->sources) ASSERT_EQ(source.damage, "") << k;
  WorkProgress quiet;
  gather(store, {.set = "dir/set"}, quiet);
  if (before->streams().empty()) return;
  const auto after = NamedStreams::open(store, "dir/set");
  ASSERT_EQ(after->streams().size(), before->streams().size());
  for (size_t number = 0; number < after->streams().size(); ++number)
    ASSERT_EQ(read_all(*after, number), read_all(*before, number)) << after->streams()[number].name;
}

TEST(ContainerFailures, WhatWasAcceptedIsThereWhateverFails) {
  for (const bool half : {false, true})
    for (int64_t k = 0;; ++k) {
      MemoryStore memory;
      FaultyStore store(memory);
      Model accepted;
      std::set<std::string> unsure;
      int64_t failed = 0;
      try {
        CarefulProgram program(store, "dir/set", "half" + std::to_string(half) + "k" + std::to_string(k));
        store.set_plan(plan_of(k, half));
        program.run(3, [](const Model&) {});
        failed = store.failed();
        accepted = program.model();
        unsure = program.unsure();
      } catch (const Error&) {
        failed = 1;
      }
      store.set_plan({});
      if (failed == 0) {
        EXPECT_GT(k, 50);
        break;
      }
      if (accepted.empty()) continue;
      const auto seen = NamedStreams::open(store, "dir/set");
      for (const auto& [name, stream] : accepted) {
        if (unsure.contains(name)) continue;
        EXPECT_TRUE(holds(*seen, name, *stream))
            << name << " after operation " << k << " has failed, " << half;
      }
      // Missing bytes must keep the containers until their streams are removed.
      {
        const auto set = ContainerSet::open(
            memory, "dir/set", {"half" + std::to_string(half) + "k" + std::to_string(k), "/dev/shm"});
        for (const std::string& name : unsure) set->remove(name);
      }
      gather_refusing_nothing(memory, k);
    }
}

// Decorator of a Store on a full disk. A write can only overwrite existing bytes.
class FullStore final : public ForwardingStore {
 public:
  FullStore(Store& inner, bool is_mapped) : ForwardingStore(inner), is_mapped_(is_mapped) {}
  FileSystemTraits traits(const std::string& path) override {
    FileSystemTraits traits = ForwardingStore::traits(path);
    traits.coherence = Coherence::local;
    traits.kind = FileSystem::ext4;
    traits.mmap = is_mapped_;
    return traits;
  }
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    return std::make_shared<Limited>(ForwardingStore::open(path, access), *this);
  }
  bool is_full = false;

 private:
  class Limited final : public ForwardingFile {
   public:
    Limited(std::shared_ptr<File> file, FullStore& store) : ForwardingFile(std::move(file)), store_(store) {}
    void write_at(std::span<const std::byte> data, int64_t offset) override {
      if (store_.is_full && offset + std::ssize(data) > inner().status().size)
        throw os_error("cannot write to", path(), ENOSPC);
      ForwardingFile::write_at(data, offset);
    }

   private:
    FullStore& store_;
  };
  const bool is_mapped_;
};

TEST(ContainerFailures, StreamsAreRemovedAndCutOnAFullDisk) {
  for (const bool is_mapped : {false, true}) {
    MemoryStore memory;
    FullStore store(memory, is_mapped);
    const ContainerHost host{"full" + std::to_string(is_mapped), "/dev/shm"};
    const auto name = [](int k) { return "n" + std::to_string(k); };
    const auto size_seen = [&](const std::string& stream) {
      const auto seen = NamedStreams::open(memory, "set");
      const NamedStream* const found = seen->find(stream);
      return found != nullptr ? found->size : -1;
    };
    auto set = ContainerSet::open(store, "set", host);
    auto grown = set->open_stream("grown", {.create = true});
    for (int k = 0; k < 200; ++k) append(*set, name(k), content(1, 100));
    for (int k = 0; k < 3; ++k) grown->append(content(2, 1000));
    store.is_full = true;
    const auto fill_areas = [&] {
      for (int k = 200;; ++k) set->open_stream(name(k), {.create = true});
    };
    EXPECT_THROW(fill_areas(), Error);
    grown->truncate(900);
    EXPECT_EQ(size_seen("grown"), 900);
    EXPECT_TRUE(set->truncate("grown", 0));
    EXPECT_EQ(size_seen("grown"), 0);
    int gone = 0;
    const auto remove_next = [&] {
      EXPECT_TRUE(set->remove(name(gone)));
      EXPECT_EQ(size_seen(name(gone)), -1);
      EXPECT_EQ(size_seen(name(++gone)), 100);
    };
    while (gone < 20) remove_next();
    grown.reset();
    set.reset();
    set = ContainerSet::open(
        store, "set", host);  // opens the set as a new process, after all others of the host have ended
    while (gone < 40) remove_next();
    EXPECT_THROW(for (;;) remove_next(), Error);
    EXPECT_GT(gone, 60);
    store.is_full = false;
    while (gone < 150) remove_next();
    set.reset();
    WorkProgress quiet;
    EXPECT_TRUE(gather(memory, {.set = "set"}, quiet).kept.empty());
  }
}

// Appends until all bytes are accepted. Makes space at the first failure. Returns the number of failures.
int64_t write_again_and_again(FullStore& store, ContainerStream& stream, std::span<const std::byte> left) {
  int64_t failures = 0;
  while (!left.empty()) try {
      left = left.subspan(static_cast<size_t>(stream.append(left).bytes));
    } catch (const Error& e) {
      EXPECT_EQ(e.errno_value(), ENOSPC);
      store.is_full = false;
      ++failures;
    }
  return failures;
}

TEST(ContainerFailures, WhatIsReturnedIsWhatWasAppended) {
  for (const bool is_mapped : {false, true}) {
    MemoryStore memory;
    FullStore store(memory, is_mapped);
    const auto set = ContainerSet::open(store, "set", {"part" + std::to_string(is_mapped), "/dev/shm"});
    const auto one = set->open_stream("one", {.create = true});
    const auto two = set->open_stream("two", {.create = true});
    one->append(content(1, 1600));
    two->append(content(2, 40000));
    one->append(content(3, 900));
    two->append(content(4, 500));
    store.is_full = true;
    const Bytes more = content(5, 200000);
    int64_t accepted = 2500;
    const auto write = [&](std::span<const std::byte> bytes) {
      try {
        accepted += one->append(bytes).bytes;
      } catch (const Error&) {
      }
      EXPECT_EQ(one->status().size, accepted);
      EXPECT_EQ(set->status("one")->size, accepted);
    };
    write(more);
    EXPECT_EQ(
        write_again_and_again(store, *one, std::span(more).subspan(static_cast<size_t>(accepted - 2500))), 1);
    EXPECT_EQ(one->status().size, 2500 + 200000);
    one->flush();
    Bytes all = content(1, 1600);
    for (const Bytes& part : {content(3, 900), more}) all.insert(all.end(), part.begin(), part.end());
    Bytes found(all.size());
    one->read(found, 0);
    EXPECT_EQ(found, all);
  }
}

// The reaction of a program that ignores a failed write, and whether the close must report the failure.
struct Ignoring {
  const char* what;
  std::function<void(ContainerSet&, ContainerStream&, FullStore&)> then;
  bool is_told;
};

TEST(ContainerFailures, AnIgnoredFailureIsToldByTheCloseAndTheMultifile) {
  const Bytes lost = content(7, 70000);
  const auto room = [](FullStore& store) { store.is_full = false; };
  const std::vector<Ignoring> all = {
      {"nothing", [](ContainerSet&, ContainerStream&, FullStore&) {}, true},
      {"goes on with other bytes",
       [&](ContainerSet&, ContainerStream& s, FullStore& store) { room(store), s.append(content(8, 70000)); },
       true},
      {"writes the same bytes elsewhere in parts",
       [&](ContainerSet&, ContainerStream& s, FullStore& store) {
         room(store);
         s.append(content(8, 10));
         s.append(std::span(lost).first(30000));
         s.append(std::span(lost).subspan(30000));
       },
       false},
      {"a part of them",
       [&](ContainerSet&, ContainerStream& s, FullStore& store) {
         room(store), s.append(std::span(lost).first(69999));
       },
       true},
      {"begins the file anew",
       [&](ContainerSet&, ContainerStream& s, FullStore& store) {
         room(store), s.truncate(0), s.append(lost);
       },
       false},
      {"removes it", [](ContainerSet& set, ContainerStream&, FullStore&) { set.remove("lossy"); }, false}};
  for (const Ignoring& one : all) {
    SCOPED_TRACE(one.what);
    MemoryStore memory;
    FullStore store(memory, false);
    auto set = ContainerSet::open(store, "set", {std::string("ignored") + one.what, "/dev/shm"});
    set->open_stream("kept", {.create = true})->append(content(1, 100));
    auto stream = set->open_stream("lossy", {.create = true});
    stream->append(content(2, 1000));
    store.is_full = true;
    EXPECT_THROW(stream->append(lost), Error);
    one.then(*set, *stream, store);
    if (one.is_told) {
      EXPECT_THROW(stream->sync(), Error);
      EXPECT_THROW(stream->flush(), Error);
      EXPECT_THROW(stream->flush(), Error);  // every flush fails while bytes are missing
    } else {
      EXPECT_NO_THROW(stream->sync());
      EXPECT_NO_THROW(stream->flush());
    }
    stream.reset();
    set.reset();
    WorkProgress quiet;
    const auto gathered = attempt([&] { gather(memory, {.set = "set"}, quiet); });
    EXPECT_EQ(gathered.has_value(), one.is_told);
    if (!one.is_told) continue;
    EXPECT_NE(std::string(gathered->what()).find("'lossy' could not be written"), std::string::npos)
        << gathered->what();
    EXPECT_EQ(gather(memory, {.set = "set", .output = "other"}, quiet).damage.size(), 1u);
    ContainerSet::open(memory, "set", {std::string("ignored") + one.what, "/dev/shm"})->remove("lossy");
    EXPECT_NO_THROW(gather(memory, {.set = "set"}, quiet));
  }
}

TEST(ContainerFailures, AWriteOverTheBytesOfAFailedOneTakesItsPlace) {
  MemoryStore memory;
  FullStore store(memory, false);
  const auto set = ContainerSet::open(store, "set", {"over", "/dev/shm"});
  const auto stream = set->open_stream("a", {.create = true});
  stream->append(content(1, 100));
  store.is_full = true;
  EXPECT_THROW(stream->write(content(2, 9000), 100), Error);
  store.is_full = false;
  stream->write(content(3, 8999), 101);
  EXPECT_THROW(stream->flush(), Error);
  stream->write(content(3, 9000), 100);
  EXPECT_NO_THROW(stream->flush());
}

// A flush or sync that succeeds after one that failed has recorded everything, whichever operation failed.
TEST(ContainerFailures, ARepeatedFlushRecordsWhatTheFailedOneDidNot) {
  for (const bool sync : {false, true})
    for (int64_t k = 0;; ++k) {
      SCOPED_TRACE(k);
      MemoryStore memory;
      RecordingStore tape(memory);
      FaultyStore store(tape);
      const auto set = ContainerSet::open(store, "set", {"again" + std::to_string(k), "/dev/shm"});
      const auto stream = set->open_stream("a", {.create = true});
      const auto keep = [&] { sync ? stream->sync() : stream->flush(); };
      stream->append(content(1, 1000));
      keep();
      stream->write(content(2, 500), 100);
      const int64_t modified = stream->status().modified;
      store.set_plan(plan_of(k, false));
      const auto problem = attempt(keep);
      if (store.failed() == 0) break;
      store.set_plan({});
      if (!problem) continue;
      keep();
      Bytes all = content(1, 1000);
      std::ranges::copy(content(2, 500), all.begin() + 100);
      MemoryStore left;
      sync ? tape.replay_losing_unsynced(tape.length(), 1, left) : tape.replay(tape.length(), left);
      const auto seen = NamedStreams::open(left, "set");
      ASSERT_TRUE(holds(*seen, "a", ModelStream{.bytes = all}));
      ASSERT_EQ(seen->find("a")->modified(), modified);
    }
}

TEST(ContainerFailures, EveryStateOfTheFilesHoldsWhatWasDone) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    MemoryStore memory;
    RecordingStore tape(memory);
    std::vector<std::pair<size_t, Model>> known{{0, {}}};
    {
      CarefulProgram program(tape, "dir/set", "tape" + std::to_string(seed));
      program.run(seed, [&](const Model& model) {
        Model copy;
        for (const auto& [name, stream] : model) copy[name] = std::make_shared<ModelStream>(*stream);
        known.emplace_back(tape.length(), std::move(copy));
      });
    }
    size_t step = 0;
    for (size_t prefix = 0; prefix <= tape.length(); ++prefix) {
      while (step + 1 < known.size() && known[step + 1].first <= prefix) ++step;
      MemoryStore state;
      tape.replay(prefix, state);
      if (containers_of(state, "dir/set").empty()) {
        ASSERT_TRUE(known[step].second.empty());
        continue;
      }
      const auto seen = NamedStreams::open(state, "dir/set");
      // Streams of the current step must be as before or after it, all others as before.
      const Model& before = known[step].second;
      const Model& after = step + 1 < known.size() ? known[step + 1].second : before;
      for (const auto& [name, stream] : before)
        if (after.contains(name) && after.at(name)->bytes == stream->bytes) {
          ASSERT_TRUE(holds(*seen, name, *stream))
              << name << ", seed " << seed << ", after " << prefix
              << " changes, the last: " << (prefix > 0 ? tape.describe(prefix - 1) : "");
        }
      gather_refusing_nothing(state, static_cast<int64_t>(prefix));
    }
  }
}

TEST(ContainerFailures, GatheringKeepsEverythingWhateverFails) {
  for (int64_t k = 0;; ++k) {
    MemoryStore memory;
    Model model;
    {
      CarefulProgram program(memory, "dir/set", "gather" + std::to_string(k));
      program.run(11, [](const Model&) {});
      model = program.model();
    }
    FaultyStore store(memory, plan_of(k, true));
    WorkProgress quiet;
    bool done = false;
    try {
      gather(store, {.set = "dir/set"}, quiet);
      done = true;
    } catch (const Error&) {
    }
    require_seen(memory, "dir/set", model);
    if (done && store.failed() == 0) break;
    if (done) continue;  // the failure came after the commit; the lease stays like that of a dead owner
    gather(memory, {.set = "dir/set"}, quiet);
    require_seen(memory, "dir/set", model);
  }
}

TEST(ContainerFailures, GatheringKeepsEverythingThroughALossOfPower) {
  MemoryStore memory;
  Model model;
  {
    CarefulProgram program(memory, "dir/set", "power");
    program.run(11, [](const Model&) {});
    model = program.model();
  }
  RecordingStore tape(memory);
  WorkProgress quiet;
  gather(tape, {.set = "dir/set"}, quiet);
  for (size_t prefix = 0; prefix <= tape.length(); ++prefix)
    for (uint64_t seed = 0; seed < 5; ++seed) {
      MemoryStore left;
      tape.replay_losing_unsynced(prefix, seed, left);
      require_seen(left, "dir/set", model);
    }
}

TEST(ContainerFailures, AContainerThatWasTakenInCountsNoMore) {
  MemoryStore memory;
  const ContainerHost host{"taken", "/dev/shm"};
  {
    const auto set = ContainerSet::open(memory, "set", host);
    set->open_stream("q", {.create = true})->append(content(1, 10));
    set->remove("q");
    set->open_stream("p", {.create = true})->append(content(2, 10));
    set->rename("p", "q");
  }
  const auto left = memory.contents("set.container.taken");
  WorkProgress quiet;
  gather(memory, {.set = "set"}, quiet);
  memory.set_contents("set.container.taken", left);  // as if the removal had failed
  const auto seen = NamedStreams::open(memory, "set");
  ASSERT_EQ(seen->streams().size(), 1u);
  EXPECT_EQ(read_all(*seen, 0), content(2, 10));
  const auto set = ContainerSet::open(memory, "set", host);
  set->open_stream("q", {.write = true})->append(content(3, 10));
  EXPECT_EQ(set->status("q")->size, 20);
}

}  // namespace
}  // namespace sheaf::test
