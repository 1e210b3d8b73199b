// Number of checks for changes of other hosts. Creating a stream must make no check, a check must not read
// known records again, and concurrent checks must be combined.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <thread>

#include "format/container.hpp"
#include "storage/decorators/forwarding_file.hpp"
#include "storage/decorators/forwarding_store.hpp"
#include "streams/container/container_names.hpp"
#include "streams/container/gather.hpp"
#include "streams/container/set_model.hpp"
#include "support/hosts_store.hpp"

namespace sheaf::test {

using namespace streams;

namespace {

// Counts the accesses of a host to the containers of others.
class AskingStore final : public ForwardingStore {
 public:
  AskingStore(Store& inner, std::string own) : ForwardingStore(inner), own_(std::move(own)) {}

  std::shared_ptr<File> open(const std::string& path, Access access) override {
    auto file = ForwardingStore::open(path, access);
    if (!set_of_container(path) || path.ends_with(own_)) return file;
    ++opens;
    return std::make_shared<Asked>(std::move(file), *this);
  }
  std::vector<std::string> names_in(const std::string& directory) override {
    ++lists;
    std::this_thread::sleep_for(slowness);
    return ForwardingStore::names_in(directory);
  }
  void begin() { opens = lists = reads = bytes = 0; }

  std::atomic<int64_t> opens = 0, lists = 0, reads = 0, bytes = 0;
  std::chrono::milliseconds slowness{0};

 private:
  class Asked final : public ForwardingFile {
   public:
    Asked(std::shared_ptr<File> file, AskingStore& store) : ForwardingFile(std::move(file)), store_(store) {}
    size_t read_at(std::span<std::byte> data, int64_t offset) override {
      const size_t got = inner().read_at(data, offset);
      ++store_.reads;
      store_.bytes += static_cast<int64_t>(got);
      return got;
    }

   private:
    AskingStore& store_;
  };
  const std::string own_;
};

class AskingHosts {
 public:
  AskingHosts(int hosts, const std::string& name) : world_({.seed = 1, .pressure = 7}) {
    for (int host = 0; host < hosts; ++host) {
      const std::string called = name + "h" + std::to_string(host);
      hosts_.push_back(std::make_unique<HostsStore>(world_, host, host));
      stores_.push_back(std::make_unique<AskingStore>(*hosts_.back(), called));
      sets_.push_back(ContainerSet::open(*stores_.back(), "dir/set", {called, "/dev/shm"}));
    }
  }
  ContainerSet& set(int host) { return *sets_[static_cast<size_t>(host)]; }
  AskingStore& store(int host) { return *stores_[static_cast<size_t>(host)]; }
  HostsCounts counts() const { return world_.counts(); }
  void leave() { sets_.clear(); }

 private:
  SimulatedHosts world_;
  std::vector<std::unique_ptr<HostsStore>> hosts_;
  std::vector<std::unique_ptr<AskingStore>> stores_;
  std::vector<std::shared_ptr<ContainerSet>> sets_;
};

// Creates a stream as the preload library does for O_CREAT | O_TRUNC.
void make(ContainerSet& set, const std::string& name, const Bytes& bytes) {
  require(!set.known(name), name + " is known already");
  const auto stream = set.open_stream(name, {.create = true, .truncate = true});
  stream->append(bytes);
  stream->flush();
}

std::string long_name(int number) { return std::string(1500, 'n') + std::to_string(number); }

TEST(ContainerLooks, WhatIsMadeAnewAsksNobody) {
  AskingHosts hosts(3, "anew");
  const auto begin = std::chrono::steady_clock::now();
  for (int step = 0; step < 60; ++step)
    for (int host = 0; host < 3; ++host)
      make(hosts.set(host), "s" + std::to_string(step) + "." + std::to_string(host), content(7, 100));
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin).count();
  for (int host = 0; host < 3; ++host) {
    EXPECT_LE(hosts.store(host).lists, 2 + seconds);
    EXPECT_LE(hosts.store(host).opens, 2 * (2 + seconds));
  }
  for (int host = 0; host < 3; ++host)
    for (int k = 0; k < 3; ++k) EXPECT_EQ(get(hosts.set(host), "s17." + std::to_string(k)), content(7, 100));
  EXPECT_EQ(hosts.counts().shared_units, 0);
}

TEST(ContainerLooks, NothingKnownIsReadAgain) {
  AskingHosts hosts(2, "again");
  AskingStore& asking = hosts.store(0);
  make(hosts.set(0), "own", content(1, 10));
  constexpr int streams = 400;  // 600 KiB of records
  for (int k = 0; k < streams; ++k) {
    make(hosts.set(1), long_name(k), content(static_cast<uint64_t>(k), 20));
    asking.begin();
    EXPECT_TRUE(hosts.set(0).status(long_name(k)));
    EXPECT_EQ(asking.lists, 1);
    EXPECT_EQ(asking.opens, 1);
    EXPECT_LE(asking.reads, 8);
    EXPECT_LE(asking.bytes, 24 << 10);
    asking.begin();
    EXPECT_TRUE(hosts.set(0).status(long_name(k)));
    EXPECT_EQ(asking.lists, 1);
    EXPECT_LE(asking.reads, 3) << "header, table and end of the log";
  }
  for (int k = 0; k < streams; k += 37)
    EXPECT_EQ(get(hosts.set(0), long_name(k)), content(static_cast<uint64_t>(k), 20));
}

TEST(ContainerLooks, WhoAsksAtTheSameTimeAsksTogether) {
  AskingHosts hosts(2, "together");
  make(hosts.set(1), "a", content(1, 10));
  make(hosts.set(0), "b", content(1, 10));
  AskingStore& asking = hosts.store(0);
  asking.slowness = std::chrono::milliseconds(100);
  asking.begin();
  std::barrier ready(8);
  std::vector<std::jthread> threads;
  for (int k = 0; k < 8; ++k)
    threads.emplace_back([&] {
      ready.arrive_and_wait();
      EXPECT_TRUE(hosts.set(0).status("a"));
    });
  threads.clear();
  EXPECT_LE(asking.lists, 4);  // one in progress, one for all threads that arrived during it, and late ones
}

// Open streams grow and update their records in place. Hosts that know the records must find each flush.
TEST(ContainerLooks, WhatHasGrownIsFound) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    AskingHosts hosts(3, "grown" + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::map<std::string, std::shared_ptr<ContainerStream>> open;
    std::map<std::string, Bytes> model;
    try {
      for (int step = 0; step < 80; ++step) {
        const std::string name = "n" + std::to_string(random() % 4);
        auto& stream = open[name];
        if (!stream) stream = hosts.set(0).open_stream(name, {.create = true});
        Bytes& bytes = model[name];
        for (uint64_t writes = 1 + random() % 4; writes > 0; --writes) {
          const Bytes more = content(random(), 1 + random() % 700);
          if (random() % 8 == 0) {
            bytes.resize(random() % (bytes.size() + 1));
            stream->truncate(static_cast<int64_t>(bytes.size()));
          }
          stream->append(more);
          bytes.insert(bytes.end(), more.begin(), more.end());
          if (random() % 3 == 0) hosts.set(1).status(name);  // reads a part of the changes
        }
        const int64_t stamp = 1000 + static_cast<int64_t>(random() % 1000);
        const bool stamped = random() % 4 == 0;
        if (stamped) stream->set({std::nullopt, stamp});
        stream->flush();
        for (int host = 1; host < 3; ++host) {
          require(get(hosts.set(host), name) == bytes, name + " has other bytes");
          if (stamped) require(hosts.set(host).status(name)->modified == stamp, name + " has another time");
        }
        if (random() % 10 == 0) stream.reset();
        if (random() % 6 == 0) {  // another host continues the stream
          const Bytes more = content(random(), 50);
          const auto other = hosts.set(1).open_stream(name, {.write = true});
          other->append(more);
          other->flush();
          bytes.insert(bytes.end(), more.begin(), more.end());
          stream = hosts.set(0).open_stream(name, {.write = true});
          require(read_all(*stream) == bytes, name + " has other bytes at home");
        }
      }
      open.clear();
      hosts.leave();
      multifile::WorkProgress quiet;
      gather(hosts.store(0), {.set = "dir/set"}, quiet);
      const auto seen = NamedStreams::open(hosts.store(2), "dir/set");
      for (const auto& [name, bytes] : model)
        require(read_all(*seen, *seen->find(name)) == bytes, name + " is another in the multifile");
    } catch (const std::exception& e) {
      FAIL() << "seed " << seed << ": " << e.what();
    }
  }
}

// Writes a container of a host whose clock is ahead.
void write_container(Store& store, const std::string& path, const std::string& name, const Bytes& bytes,
                     int64_t time) {
  using namespace format;
  ContainerHeader header{.host = "ahead"};
  header.identity.fill(std::byte{42});
  header.made = time;
  constexpr int64_t area = 2 * container_page, data = 3 * container_page;
  std::vector<std::byte> records;
  ContainerRecord record{.kind = RecordKind::create, .time = time, .stream = {1, 0}};
  record.name = name;
  record.mode = 0644;
  encode(record, header.identity, area, records);
  const int64_t place = area + std::ssize(records);
  record = {.kind = RecordKind::piece, .time = time + 1, .stream = {1, 0}};
  record.place = data;
  record.length = std::ssize(bytes);
  record.modified = time + 1;
  encode(record, header.identity, place, records);
  records.resize(container_page);
  auto table = std::vector<std::byte>(container_page);
  std::ranges::copy(encode(Area{area, container_page}, header.identity, container_page), table.begin());
  const auto file = store.open(path, Access::create);
  file->write_at(encode(header), 0);
  file->write_at(table, container_page);
  file->write_at(records, area);
  file->write_at(bytes, data);
  file->close();
}

TEST(ContainerLooks, WhatIsDoneToAStreamCountsLaterThanWhatWasKnownOfIt) {
  AskingHosts hosts(3, "clock");
  const int64_t hour = int64_t{3600} * 1000000000;
  const int64_t now = std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  write_container(hosts.store(2), "dir/set.container.ahead", "a", content(1, 500), now + hour);
  EXPECT_EQ(get(hosts.set(0), "a"), content(1, 500));
  const auto stream = hosts.set(0).open_stream("a", {.create = true, .truncate = true});
  stream->append(content(2, 100));
  stream->flush();
  EXPECT_EQ(get(hosts.set(1), "a"), content(2, 100));
  EXPECT_EQ(get(hosts.set(0), "a"), content(2, 100));
}

}  // namespace
}  // namespace sheaf::test
