// Transfers from and to memory that listeners can map. The result must be the same as with messages, and no
// bytes may travel.
#include <random>

#include "cluster.hpp"
#include "sfio/service/service.hpp"
#include "sfio/striped_store.hpp"
#include "storage/decorators/forwarding_file.hpp"

namespace sheaf::test::lent_test {
namespace {

using sfio::LentRun;
using sfio::LinkCounts;
using sfio::Request;
using sfio::RequestKind;
using sfio::Service;

std::string path_on(int listeners, int subfiles) { return "sfio:unit=5000;" + name_on(listeners, subfiles); }

// One task, two listeners, and an open file with the given stripe unit.
void with_file(int64_t unit,
               const std::function<void(StripedCluster&, StripedCluster::ComputeTask&, File&)>& body) {
  StripedCluster cluster(1, 2);
  cluster.run([&](StripedCluster::ComputeTask& task) {
    const std::string name = "sfio:unit=" + std::to_string(unit) + ";" + name_on(2, 2);
    const auto file = make_striped_store(task.link)->open(name, Access::create);
    body(cluster, task, *file);
    file->close();
  });
}

struct LinkTraffic {
  int64_t bytes = 0, lent = 0;
};

// Returns the traffic of `move`.
LinkTraffic traffic_of(Link& link, const std::function<void()>& move) {
  const LinkCounts before = link.counts();
  move();
  return {link.counts().bytes - before.bytes, link.counts().lent - before.lent};
}

TEST(LentTransfers, AreAsThoseByMessages) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    StripedCluster cluster(2, 3);
    cluster.seed = seed;
    cluster.run([&](StripedCluster::ComputeTask& task) {
      std::mt19937 random(static_cast<unsigned>(seed * 2) + static_cast<unsigned>(task.comm.rank()));
      const std::string path = path_on(3, 5) + "." + std::to_string(task.comm.rank());
      const auto file = make_striped_store(task.link)->open(path, Access::create);
      const auto memory = LendableMemory::make(300'000);
      std::vector<std::byte> model(200'000);
      int64_t end = 0;
      int64_t lent = 0;
      for (int round = 0; round < 40; ++round) {
        const auto loan = random() % 4 == 0 ? nullptr : std::make_unique<Loan>(memory->lent());
        const int64_t offset = static_cast<int64_t>(random() % 150'000);
        const auto length = static_cast<size_t>(random() % 50'000);
        const auto part = memory->bytes().subspan(random() % 250'000, length);
        LinkTraffic seen;
        if (random() % 2 == 0) {
          for (std::byte& byte : part) byte = static_cast<std::byte>(random());
          std::ranges::copy(part, model.begin() + offset);
          if (length > 0) end = std::max(end, offset + static_cast<int64_t>(length));
          seen = traffic_of(*task.link, [&] { file->write_at(part, offset); });
        } else {
          const auto expected = static_cast<size_t>(std::clamp<int64_t>(end - offset, 0, std::ssize(part)));
          seen = traffic_of(*task.link, [&] { ASSERT_EQ(file->read_at(part, offset), expected); });
          ASSERT_TRUE(std::ranges::equal(part.first(expected),
                                         std::span(model).subspan(static_cast<size_t>(offset), expected)));
        }
        ASSERT_EQ(seen.bytes, std::ssize(part));
        ASSERT_LE(seen.lent, loan ? seen.bytes : 0);
        lent += seen.lent;
      }
      EXPECT_GT(lent, 0);
      file->close();
    });
  }
}

TEST(LentTransfers, OnlyWhileTheMemoryIsLentAndOnlyWithinIt) {
  with_file(5'000, [&](StripedCluster&, StripedCluster::ComputeTask& task, File& file) {
    const auto memory = LendableMemory::make(20'000);
    std::vector<std::byte> other(20'000);
    const auto write = [&](std::span<const std::byte> bytes) {
      return traffic_of(*task.link, [&] { file.write_at(bytes, 0); }).lent;
    };
    EXPECT_EQ(write(memory->bytes()), 0);
    {
      const Loan loan(memory->lent());
      const Loan again(memory->lent());
      EXPECT_EQ(write(memory->bytes()), 20'000);
      EXPECT_EQ(write(other), 0);
      EXPECT_EQ(write(std::span(memory->bytes().data() + 10'000, 10'000)), 10'000);
    }
    EXPECT_EQ(write(memory->bytes()), 0);
    LentMemory half = memory->lent();
    half.bytes = half.bytes.first(10'000);
    const Loan loan(half);
    EXPECT_EQ(write(memory->bytes().first(10'000)), 10'000);
    EXPECT_EQ(write(memory->bytes().subspan(5'000, 5'000)), 5'000);
    EXPECT_EQ(write(memory->bytes().subspan(6'000, 5'000)), 0);
    EXPECT_EQ(write(memory->bytes().subspan(10'000)), 0);
  });
}

// More tasks lend memory than a listener keeps mapped. All transfers must succeed.
TEST(LentTransfers, OfMoreTasksThanAListenerKeepsMapped) {
  with_file(5'000, [&](StripedCluster&, StripedCluster::ComputeTask& task, File& file) {
    std::vector<std::unique_ptr<LendableMemory>> memories;
    for (size_t i = 0; i < 40; ++i) memories.push_back(LendableMemory::make(10'000));
    for (int round = 0; round < 2; ++round)
      for (size_t i = 0; i < memories.size(); ++i) {
        const Loan loan(memories[i]->lent());
        std::ranges::fill(memories[i]->bytes(), static_cast<std::byte>(round * 40 + i));
        EXPECT_EQ(traffic_of(*task.link,
                             [&] { file.write_at(memories[i]->bytes(), 10'000 * static_cast<int64_t>(i)); })
                      .lent,
                  10'000);
      }
    std::vector<std::byte> back(400'000);
    ASSERT_EQ(file.read_at(back, 0), back.size());
    for (size_t i = 0; i < back.size(); ++i) ASSERT_EQ(back[i], static_cast<std::byte>(40 + i / 10'000)) << i;
  });
}

TEST(LentTransfers, EndAlsoForMemoryThatWasCalledBack) {
  with_file(5'000, [&](StripedCluster&, StripedCluster::ComputeTask& task, File& file) {
    const auto memory = LendableMemory::make(10'000);
    {
      const Loan loan(memory->lent());
      call_back(memory->lent());
    }
    const auto before = task.link->counts();
    file.write_at(memory->bytes(), 0);
    EXPECT_EQ(task.link->counts().messages - before.messages, 2)
        << "none was asked whether it can reach the memory";
  });
}

TEST(LentTransfers, TravelInOneMessageWhereTheirPiecesAreSmall) {
  with_file(100, [&](StripedCluster&, StripedCluster::ComputeTask& task, File& file) {
    const auto memory = LendableMemory::make(20'000);
    const Loan loan(memory->lent());
    const auto before = task.link->counts();
    file.write_at(memory->bytes(), 0);
    EXPECT_EQ(task.link->counts().lent - before.lent, 0);
    EXPECT_EQ(task.link->counts().messages - before.messages, 2);
  });
}

// The listener cannot find the memory, as if the task were on another machine. The bytes must travel in
// messages.
TEST(LentTransfers, TravelWhereTheListenerCannotReachTheMemory) {
  with_file(5'000, [&](StripedCluster&, StripedCluster::ComputeTask& task, File& file) {
    const auto memory = LendableMemory::make(20'000);
    std::ranges::fill(memory->bytes(), std::byte{'m'});
    LentMemory elsewhere = memory->lent();
    ++elsewhere.facts.secret;
    const Loan loan(elsewhere);
    const auto before = task.link->counts();
    file.write_at(memory->bytes(), 5'000);
    EXPECT_EQ(task.link->counts().messages - before.messages, 2 + 2);  // one notification each
    EXPECT_EQ(task.link->counts().lent - before.lent, 0);
    file.write_at(memory->bytes(), 5'000);
    EXPECT_EQ(task.link->counts().messages - before.messages, 2 + 2 + 2);
    std::vector<std::byte> back(25'000);
    EXPECT_EQ(file.read_at(back, 0), back.size());
    EXPECT_EQ(std::ranges::count(back, std::byte{'m'}), 20'000);
  });
}

TEST(LentTransfers, FailAsThoseByMessages) {
  with_file(5'000, [&](StripedCluster& cluster, StripedCluster::ComputeTask&, File& file) {
    const auto memory = LendableMemory::make(20'000);
    const Loan loan(memory->lent());
    FaultPlan full;
    full.fail_at = 0;
    full.errno_value = ENOSPC;
    full.kind = StoreOperation::write;
    cluster.stores[1]->set_plan(full);
    std::string message;
    EXPECT_EQ(code_of([&] { file.write_at(memory->bytes(), 0); }, &message), Code::no_space);
    EXPECT_NE(message.find("host1"), std::string::npos) << message;
  });
}

// A disk that triggers an event while it is read or written.
class EventfulStore final : public Store {
 public:
  EventfulStore(Store& inner, std::function<void()> event) : inner_(inner), event_(std::move(event)) {}
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    struct Eventful final : ForwardingFile {
      Eventful(std::shared_ptr<File> file, const std::function<void()>& event)
          : ForwardingFile(std::move(file)), event_(event) {}
      size_t read_at(std::span<std::byte> data, int64_t offset) override {
        if (data.size() == 5'000) event_();
        return inner().read_at(data, offset);
      }
      const std::function<void()>& event_;
    };
    return std::make_shared<Eventful>(inner_.open(path, access), event_);
  }
  FileStatus status(const std::string& path) override { return inner_.status(path); }
  void remove(const std::string& path) override { inner_.remove(path); }
  void rename(const std::string& from, const std::string& to) override { inner_.rename(from, to); }

 private:
  Store& inner_;
  const std::function<void()> event_;
};

// The listener answers after the task has given up. The memory then holds other data, which the listener must
// not change.
TEST(LentTransfers, ThatAreGivenUpTouchNothingAfterwards) {
  const auto memory = LendableMemory::make(20'000);
  bool reading = false;
  bool given_up = false;
  StripedCluster cluster(1, 1);
  std::unique_ptr<EventfulStore> disk;
  const auto wait_for_it = [&] {
    reading = true;
    while (!given_up) yield();
  };
  cluster.run(
      [&](StripedCluster::ComputeTask& task) {
        const auto file = StripedFile::open(task.link, sfio::parse_stripe_name(path_on(1, 1)),
                                            sfio::SubfileOpenMode::create);
        const Loan loan(memory->lent());
        std::ranges::fill(memory->bytes(), std::byte{'w'});
        Block block{0, memory->bytes().data(), 5'000};
        file->write({&block, 1});
        {
          const auto operation = file->start(sfio::Direction::read, {&block, 1});
          while (!reading) {
            operation->advance();
            yield();
          }
        }
        std::ranges::fill(memory->bytes(), std::byte{'n'});
        given_up = true;
        const auto before = task.link->counts();
        EXPECT_EQ(file->status().size, 5'000);  // by this answer, the listener has finished the read
        EXPECT_EQ(std::ranges::count(memory->bytes(), std::byte{'n'}), 20'000);
        file->read({&block, 1});
        EXPECT_EQ(task.link->counts().lent, before.lent) << "called back";
        EXPECT_EQ(std::ranges::count(memory->bytes(), std::byte{'w'}), 5'000);
        const Loan lent_anew(memory->lent());
        file->read({&block, 1});
        EXPECT_EQ(task.link->counts().lent, before.lent + 5'000);
        file->close();
      },
      [&](FiberNetwork&, int) -> Store* {
        disk = std::make_unique<EventfulStore>(*cluster.stores[0], wait_for_it);
        return disk.get();
      });
}

// Sends requests that no task of this library sends. The listener must reject them.
TEST(LentTransfers, PlacesOutsideTheMemoryAreRefused) {
  MemoryStore store;
  Service service(store, "", 1 << 20);
  const auto memory = LendableMemory::make(10'000);
  Request request;
  request.kind = RequestKind::write;
  request.loan = memory->lent().facts;
  request.sections = {{1, {{0, 100}}}};
  const auto code_for = [&](LentRun place) {
    request.places = {place};
    std::vector<std::byte> answer;
    int32_t tag = 0;
    service.handle(encode(request), answer, tag);
    return static_cast<Code>(reinterpret_cast<const ::sheaf::sfio::Answer*>(answer.data())->code);
  };
  EXPECT_EQ(code_for({0, 100, 100, 1}), Code::invalid_argument);  // valid, but the handle does not exist
  constexpr int64_t huge = INT64_MAX;
  for (const LentRun& place : {LentRun{9'901, 100, 100, 1},
                               {0, 100, 5'000, 3},
                               {0, 1, huge / 2, 2},
                               {huge - 1, 1, 1, 1},
                               {0, huge, huge, 1},
                               {0, 1, 1, (1 << 20) + 1},
                               {0, 99, 99, 1},
                               {0, 101, 101, 1}})
    EXPECT_EQ(code_for(place), Code::damaged)
        << place.offset << " " << place.length << " " << place.stride << " " << place.count;
}

TEST(LentTransfers, OfMemoryThatWasCalledBackAreNotBegun) {
  MemoryStore store;
  Service service(store, "", 1 << 20);
  const auto memory = LendableMemory::make(10'000);
  Request request;
  request.kind = RequestKind::write;
  request.loan = memory->lent().facts;
  request.sections = {{1, {{0, 100}}}};
  request.places = {{0, 100, 100, 1}};
  const auto is_out_of_reach = [&] {
    std::vector<std::byte> answer;
    int32_t tag = 0;
    service.handle(encode(request), answer, tag);
    return reinterpret_cast<const ::sheaf::sfio::Answer*>(answer.data())->out_of_reach != 0;
  };
  EXPECT_FALSE(is_out_of_reach());
  call_back(memory->lent());
  EXPECT_TRUE(is_out_of_reach());
  request.loan = memory->lent().facts;
  EXPECT_FALSE(is_out_of_reach());
}

}  // namespace
}  // namespace sheaf::test::lent_test
