// Transfers from and to memory that listeners can map: what they move is as with messages, and no bytes travel.
#include <array>
#include <random>

#include "cluster.hpp"
#include "stripedfile/service.hpp"
#include "stripedfile/striped_store.hpp"

namespace sheaf::test {
namespace {

constexpr int64_t unit = 5000;

std::string path_on(int listeners, int subfiles) { return "sfio:unit=5000;" + name_on(listeners, subfiles); }

struct Seen {
  int64_t bytes = 0, lent = 0;
};

// What a transfer of `move` moved.
Seen seen_of(Link& link, const std::function<void()>& move) {
  const LinkCounts before = link.counts();
  move();
  return {link.counts().bytes - before.bytes, link.counts().lent - before.lent};
}

TEST(LentTransfers, AreAsThoseByMessages) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Cluster cluster(2, 3);
    cluster.seed = seed;
    cluster.run([&](Cluster::Task& task) {
      std::mt19937 random(static_cast<unsigned>(seed * 2) + static_cast<unsigned>(task.comm.rank()));
      const std::string path = path_on(3, 5) + "." + std::to_string(task.comm.rank());
      const auto file = make_striped_store(task.link, nullptr)->open(path, Access::create);
      const auto memory = LendableMemory::make(300'000);
      std::vector<std::byte> model(200'000);
      int64_t end = 0;
      int64_t lent = 0;
      for (int round = 0; round < 40; ++round) {
        const auto loan = random() % 4 == 0 ? nullptr : file->lend(memory->lent());
        const int64_t offset = static_cast<int64_t>(random() % 150'000);
        const auto length = static_cast<size_t>(random() % 50'000);
        const auto part = memory->bytes().subspan(random() % 250'000, length);
        Seen seen;
        if (random() % 2 == 0) {
          for (std::byte& byte : part) byte = static_cast<std::byte>(random());
          std::ranges::copy(part, model.begin() + offset);
          if (length > 0) end = std::max(end, offset + static_cast<int64_t>(length));
          seen = seen_of(*task.link, [&] { file->write_at(part, offset); });
        } else {
          const auto expected = static_cast<size_t>(std::clamp<int64_t>(end - offset, 0, std::ssize(part)));
          seen = seen_of(*task.link, [&] { ASSERT_EQ(file->read_at(part, offset), expected); });
          ASSERT_TRUE(std::ranges::equal(part.first(expected), std::span(model).subspan(static_cast<size_t>(offset), expected)));
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
  Cluster cluster(1, 2);
  cluster.run([&](Cluster::Task& task) {
    const auto file = make_striped_store(task.link, nullptr)->open(path_on(2, 2), Access::create);
    const auto memory = LendableMemory::make(20'000);
    std::vector<std::byte> other(20'000);
    const auto write = [&](std::span<const std::byte> bytes) {
      return seen_of(*task.link, [&] { file->write_at(bytes, 0); }).lent;
    };
    EXPECT_EQ(write(memory->bytes()), 0);
    {
      const auto loan = file->lend(memory->lent());
      const auto again = file->lend(memory->lent());
      EXPECT_EQ(write(memory->bytes()), 20'000);
      EXPECT_EQ(write(other), 0);
      EXPECT_EQ(write(std::span(memory->bytes().data() + 10'000, 10'000)), 10'000);
    }
    EXPECT_EQ(write(memory->bytes()), 0);
    LentMemory half = memory->lent();
    half.bytes = half.bytes.first(10'000);
    const auto loan = file->lend(half);
    EXPECT_EQ(write(memory->bytes().first(10'000)), 10'000);
    EXPECT_EQ(write(memory->bytes().subspan(5'000, 5'000)), 5'000);
    EXPECT_EQ(write(memory->bytes().subspan(6'000, 5'000)), 0);
    EXPECT_EQ(write(memory->bytes().subspan(10'000)), 0);
    file->close();
  });
}

// A listener keeps some of them mapped.
TEST(LentTransfers, OfMoreTasksThanAListenerKeepsMapped) {
  Cluster cluster(1, 2);
  cluster.run([&](Cluster::Task& task) {
    const auto file = make_striped_store(task.link, nullptr)->open(path_on(2, 2), Access::create);
    std::vector<std::unique_ptr<LendableMemory>> memories;
    for (size_t i = 0; i < 40; ++i) memories.push_back(LendableMemory::make(10'000));
    for (int round = 0; round < 2; ++round)
      for (size_t i = 0; i < memories.size(); ++i) {
        const auto loan = file->lend(memories[i]->lent());
        std::ranges::fill(memories[i]->bytes(), static_cast<std::byte>(round * 40 + i));
        EXPECT_EQ(seen_of(*task.link, [&] { file->write_at(memories[i]->bytes(), 10'000 * static_cast<int64_t>(i)); }).lent, 10'000);
      }
    std::vector<std::byte> back(400'000);
    ASSERT_EQ(file->read_at(back, 0), back.size());
    for (size_t i = 0; i < back.size(); ++i) ASSERT_EQ(back[i], static_cast<std::byte>(40 + i / 10'000)) << i;
    file->close();
  });
}

TEST(LentTransfers, TravelInOneMessageWhereTheirPiecesAreSmall) {
  Cluster cluster(1, 2);
  cluster.run([&](Cluster::Task& task) {
    const auto file = make_striped_store(task.link, nullptr)->open("sfio:unit=100;" + name_on(2, 2), Access::create);
    const auto memory = LendableMemory::make(20'000);
    const auto loan = file->lend(memory->lent());
    const auto before = task.link->counts();
    file->write_at(memory->bytes(), 0);
    EXPECT_EQ(task.link->counts().lent - before.lent, 0);
    EXPECT_EQ(task.link->counts().messages - before.messages, 2);
    file->close();
  });
}

// As from another machine: the listener finds nothing behind the facts.
TEST(LentTransfers, TravelWhereTheListenerCannotReachTheMemory) {
  Cluster cluster(1, 2);
  cluster.run([&](Cluster::Task& task) {
    const auto file = make_striped_store(task.link, nullptr)->open(path_on(2, 2), Access::create);
    const auto memory = LendableMemory::make(20'000);
    std::ranges::fill(memory->bytes(), std::byte{'m'});
    LentMemory elsewhere = memory->lent();
    ++elsewhere.facts.secret;
    const auto loan = file->lend(elsewhere);
    const auto before = task.link->counts();
    file->write_at(memory->bytes(), 5'000);
    EXPECT_EQ(task.link->counts().messages - before.messages, 2 + 2);  // each is told once
    EXPECT_EQ(task.link->counts().lent - before.lent, 0);
    file->write_at(memory->bytes(), 5'000);
    EXPECT_EQ(task.link->counts().messages - before.messages, 2 + 2 + 2);
    std::vector<std::byte> back(25'000);
    EXPECT_EQ(file->read_at(back, 0), back.size());
    EXPECT_EQ(std::ranges::count(back, std::byte{'m'}), 20'000);
    file->close();
  });
}

TEST(LentTransfers, FailAsThoseByMessages) {
  Cluster cluster(1, 2);
  cluster.run([&](Cluster::Task& task) {
    const auto file = make_striped_store(task.link, nullptr)->open(path_on(2, 2), Access::create);
    const auto memory = LendableMemory::make(20'000);
    const auto loan = file->lend(memory->lent());
    FaultPlan full;
    full.fail_at = 0;
    full.errno_value = ENOSPC;
    full.kind = sheaf::Operation::write;
    cluster.stores[1]->set_plan(full);
    std::string message;
    EXPECT_EQ(code_of([&] { file->write_at(memory->bytes(), 0); }, &message), Code::no_space);
    EXPECT_NE(message.find("host1"), std::string::npos) << message;
  });
}

// Requests as no task of ours sends them.
TEST(LentTransfers, PlacesOutsideTheMemoryAreRefused) {
  MemoryStore store;
  Service service(store, "", 1 << 20);
  const auto memory = LendableMemory::make(10'000);
  Request request;
  request.kind = Kind::write;
  request.loan = memory->lent().facts;
  request.sections = {{1, {{0, 100}}}};
  const auto code_for = [&](Place place) {
    request.places = {place};
    std::vector<std::byte> answer;
    int32_t tag = 0;
    service.handle(encode(request), answer, tag);
    return static_cast<Code>(reinterpret_cast<const ::sheaf::sfio::Answer*>(answer.data())->code);
  };
  EXPECT_EQ(code_for({0, 100, 100, 1}), Code::invalid_argument);  // sound, but there is no such handle
  constexpr int64_t huge = INT64_MAX;
  for (const Place& place : {Place{-1, 100, 100, 1}, {9'901, 100, 100, 1}, {0, 100, 5'000, 3}, {0, 0, 0, huge}, {0, -5, 0, 1},
                             {0, 1, huge, huge}, {0, 1, huge / 2, 3}, {huge, 1, 1, 1}, {0, huge, 1, 1}, {0, 100, -1, 2},
                             {0, 100, 0, huge}, {0, 1, 0, (1 << 20) + 1}, {0, 100, 100, 0}})
    EXPECT_EQ(code_for(place), Code::damaged) << place.offset << " " << place.length << " " << place.stride << " " << place.count;
}

}  // namespace
}  // namespace sheaf::test
