// Writing in the background. A program must observe the same file as without it, its memory must stay within
// the bound, and the first failure must reach every later call.
#include "storage/background/background_store.hpp"

#include <atomic>
#include <random>
#include <thread>

#include "storage/background/constants.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/stores/memory_store.hpp"
#include "support/stores/recording_store.hpp"
#include "testing.hpp"

namespace sheaf::testing::background_store_test {
namespace {

using ServedBy = BackgroundWriter::ServedBy;
constexpr int64_t piece = background_constants::piece;

std::shared_ptr<CaptureBudget> budget_of(int64_t bytes) { return std::make_shared<CaptureBudget>(bytes); }

// The files of one save over `inner`, which the caller keeps.
struct SaveFiles {
  SaveFiles(Store& inner, BackgroundWriter& writer,
            std::shared_ptr<CaptureBudget> budget = budget_of(64 * piece))
      : batch(std::make_shared<WriteBatch>(std::move(budget))),
        store({std::shared_ptr<Store>(), &inner}, writer, batch) {}
  std::shared_ptr<WriteBatch> batch;
  BackgroundStore store;
};

void finish(BackgroundWriter& writer) {
  while (writer.run_one()) continue;
}

TEST(BackgroundStore, WritesReachTheFileLater) {
  MemoryStore memory;
  BackgroundWriter writer(ServedBy::callers);
  SaveFiles save(memory, writer);
  const auto file = save.store.open("a", Access::fresh);
  file->write_at(bytes("hello"), 3);
  EXPECT_EQ(memory.contents("a").size(), 0u);
  EXPECT_EQ(file->status().size, 8);
  EXPECT_EQ(save.batch->captured(), 5);
  EXPECT_EQ(save.batch->written(), 0);
  EXPECT_EQ(read_text(*file, 3, 9), "hello") << "a read waits";
  EXPECT_EQ(save.batch->written(), 5);
}

TEST(BackgroundStore, TheProgramMayChangeItsMemoryAtOnce) {
  MemoryStore memory;
  BackgroundWriter writer(ServedBy::thread);
  SaveFiles save(memory, writer);
  const auto file = save.store.open("a", Access::fresh);
  Bytes data = pattern(3 * piece + 17);
  const Bytes before = data;
  file->write_at(data, 1);
  std::ranges::fill(data, std::byte{});
  writer.drain(*save.batch);
  Bytes found(before.size());
  EXPECT_EQ(memory.open("a", Access::read)->read_at(found, 1), found.size());
  EXPECT_TRUE(found == before);
}

TEST(BackgroundStore, ContiguousWritesBecomeOneRequest) {
  MemoryStore memory;
  FaultyStore counted(memory);
  BackgroundWriter writer(ServedBy::callers);
  SaveFiles save(counted, writer);
  const auto file = save.store.open("a", Access::fresh);
  for (int i = 0; i < 100; ++i) file->write_at(bytes("0123456789"), 10 * i);
  file->write_at(bytes("apart"), 5000);
  finish(writer);
  EXPECT_EQ(counted.operations(StoreOperation::write), 2);
}

TEST(BackgroundStore, IsLikeTheStoreItself) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
    MemoryStore plain, under;
    BackgroundWriter writer(seed % 2 == 0 ? ServedBy::thread : ServedBy::callers);
    SaveFiles save(under, writer, budget_of(seed % 3 == 0 ? 0 : 2 * piece));
    const std::vector<std::string> names{"a", "b"};
    std::vector<std::shared_ptr<File>> expected, files;
    for (const std::string& name : names) {
      expected.push_back(plain.open(name, Access::fresh));
      files.push_back(save.store.open(name, Access::fresh));
    }
    const uint64_t place = seed % 10 == 0 ? 5 * piece : 300;
    for (int step = 0; step < 60; ++step) {
      const auto f = static_cast<size_t>(below(2));
      const int64_t at = below(place), length = below(seed % 10 == 0 ? 3 * piece : 60);
      switch (below(10)) {
        case 0:
          ASSERT_EQ(read_text(*files[f], at, static_cast<size_t>(length)),
                    read_text(*expected[f], at, static_cast<size_t>(length)));
          break;
        case 1:
          ASSERT_EQ(files[f]->status().size, expected[f]->status().size);
          break;
        case 2:
          if (below(4) == 0) {
            files[f]->resize(at);
            expected[f]->resize(at);
          }
          break;
        case 3:
          files[f]->sync();
          ASSERT_EQ(under.contents(names[f]), plain.contents(names[f]));
          break;
        default: {
          const Bytes data = pattern(static_cast<size_t>(length), static_cast<unsigned>(random()));
          files[f]->write_at(data, at);
          expected[f]->write_at(data, at);
        }
      }
    }
    writer.drain(*save.batch);
    for (const std::string& name : names) ASSERT_EQ(under.contents(name), plain.contents(name));
    EXPECT_EQ(save.batch->captured(), save.batch->written());
  }
}

TEST(BackgroundStore, MemoryStaysWithinTheBound) {
  MemoryStore memory;
  for (const auto served : {ServedBy::callers, ServedBy::thread}) {
    BackgroundWriter writer(served);
    for (int round = 0; round < 5; ++round) {
      SaveFiles save(memory, writer, budget_of(3 * piece));
      const auto file = save.store.open("a", Access::create);
      file->write_at(pattern(10 * piece + 5), 0);  // larger than the bound
      for (int i = 0; i < 1000; ++i) file->write_at(pattern(40'000), 40'000 * i);
      writer.drain(*save.batch);
      EXPECT_LE(writer.memory().allocated(), 3 * piece);
    }
  }
}

TEST(BackgroundStore, AProcessMakesProgressWhenOthersHoldAllMemory) {
  MemoryStore memory;
  const auto used = std::make_shared<CaptureBudget::Counter>(0);
  const auto shared = [&] { return std::make_shared<CaptureBudget>(2 * piece, used); };
  BackgroundWriter others(ServedBy::callers), own(ServedBy::callers);
  SaveFiles theirs(memory, others, shared()), mine(memory, own, shared());
  theirs.store.open("a", Access::fresh)->write_at(pattern(2 * piece), 0);
  EXPECT_EQ(*used, 2 * piece);
  mine.store.open("b", Access::fresh)->write_at(pattern(2 * piece), 0);
  EXPECT_EQ(own.memory().in_use(), piece) << "one piece, again and again";
  finish(others);
  finish(own);
  EXPECT_EQ(memory.contents("b").size(), size_t{2 * piece});
}

TEST(BackgroundStore, TheFirstFailureReachesEveryLaterCall) {
  MemoryStore memory;
  FaultyStore broken(memory, {.fail_at = 0, .errno_value = ENOSPC, .kind = StoreOperation::write});
  BackgroundWriter writer(ServedBy::callers);
  SaveFiles save(broken, writer), other(memory, writer);
  const auto file = save.store.open("a", Access::fresh);
  const auto sound = other.store.open("b", Access::fresh);
  file->write_at(bytes("lost"), 0);
  file->write_at(bytes("dropped"), 100);
  sound->write_at(bytes("kept"), 0);
  finish(writer);
  EXPECT_EQ(memory.contents("a").size(), 0u) << "nothing is written after the failure";
  EXPECT_EQ(read_text(*sound, 0, 9), "kept") << "another save goes on";
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(attempt([&] { file->write_at(bytes("x"), 0); }).value().code(), Code::no_space);
    EXPECT_EQ(attempt([&] { file->sync(); }).value().code(), Code::no_space);
    EXPECT_EQ(attempt([&] { file->status(); }).value().code(), Code::no_space);
    EXPECT_EQ(attempt([&] { file->close(); }).value().code(), Code::no_space);
  }
  EXPECT_EQ(writer.memory().in_use(), piece) << "only the current piece";
}

TEST(BackgroundStore, FilesAreSyncedAndClosedAfterTheWrites) {
  MemoryStore memory;
  RecordingStore recorded(memory);
  BackgroundWriter writer(ServedBy::callers);
  SaveFiles save(recorded, writer);
  {
    const auto file = save.store.open("a", Access::fresh);
    file->write_at(bytes("data"), 0);
    file->close();
  }
  EXPECT_EQ(recorded.length(), 1u);
  bool synced = false;
  writer.then(save.batch, [&]() -> std::optional<std::chrono::milliseconds> {
    save.batch->sync_files();
    synced = true;
    return std::nullopt;
  });
  finish(writer);
  EXPECT_TRUE(synced);
  ASSERT_EQ(recorded.length(), 3u);
  EXPECT_TRUE(recorded.describe(1).find("write") != std::string::npos) << recorded.describe(1);
  EXPECT_TRUE(recorded.describe(2).find("sync") != std::string::npos) << recorded.describe(2);
}

TEST(BackgroundStore, AFailedSyncFailsTheSave) {
  MemoryStore memory;
  FaultyStore broken(memory, {.fail_at = 0, .kind = StoreOperation::sync});
  BackgroundWriter writer(ServedBy::callers);
  SaveFiles save(broken, writer);
  save.store.open("a", Access::fresh)->close();
  save.batch->sync_files();
  EXPECT_EQ(save.batch->failure().value().code(), Code::io);
}

TEST(BackgroundStore, StepsRunAfterTheWritesAndAgain) {
  MemoryStore memory;
  for (const auto served : {ServedBy::callers, ServedBy::thread}) {
    BackgroundWriter writer(served);
    SaveFiles save(memory, writer);
    save.store.open("a", Access::create)->write_at(pattern(piece), 0);
    std::atomic<int> calls = 0;
    std::atomic<int64_t> written = -1;
    writer.then(save.batch, [&]() -> std::optional<std::chrono::milliseconds> {
      if (calls == 0) written = save.batch->written();
      if (++calls == 3) return std::nullopt;
      return std::chrono::milliseconds(1);
    });
    while (calls < 3)
      served == ServedBy::callers ? static_cast<void>(writer.run_one()) : std::this_thread::yield();
    EXPECT_EQ(written, piece);
  }
}

TEST(BackgroundStore, AGivenUpSaveWritesNothing) {
  MemoryStore memory;
  BackgroundWriter writer(ServedBy::callers);
  {
    SaveFiles save(memory, writer);
    save.store.open("a", Access::fresh)->write_at(bytes("text"), 0);
  }
  finish(writer);
  EXPECT_EQ(memory.contents("a").size(), 0u);
}

TEST(BackgroundStore, ADiscardedSaveTakesNoMemory) {
  MemoryStore memory;
  BackgroundWriter writer(ServedBy::callers);
  SaveFiles save(memory, writer);
  save.batch->discard();
  const auto file = save.store.open("a", Access::fresh);
  ASSERT_TRUE(file->begin_sums(0, 1000));
  file->write_at(pattern(piece), 0);
  EXPECT_EQ(writer.memory().allocated(), 0);
  EXPECT_FALSE(writer.run_one());
}

TEST(BackgroundStore, FilesHaveNoDescriptors) {
  BackgroundWriter writer(ServedBy::callers);
  MemoryStore memory;
  SaveFiles save(memory, writer);
  const auto file = save.store.open("a", Access::fresh);
  EXPECT_EQ(file->descriptor(DescriptorKind::file).number, -1);
  EXPECT_EQ(attempt([&] { file->descriptor(DescriptorKind::writer); }).value().code(), Code::unsupported);
}

// Tasks that are threads of a process have a batch each, and one file.
TEST(BackgroundStore, BatchesOfOneFileEndSeparately) {
  MemoryStore memory;
  BackgroundWriter writer(ServedBy::callers);
  const auto first = std::make_shared<WriteBatch>(budget_of(piece));
  const auto second = std::make_shared<WriteBatch>(budget_of(piece));
  const std::shared_ptr<File> file = memory.open("a", Access::fresh);
  writer.write({first, file}, bytes("first"), 0);
  writer.write({second, file}, bytes("second"), 5);
  first->give_up();
  finish(writer);
  writer.drain(*second);
  EXPECT_EQ(first->written(), 0);
  EXPECT_EQ(second->written(), 6);
  EXPECT_TRUE(attempt([&] { writer.drain(*first); }));
}

TEST(BackgroundStore, AHeldWriterBeginsNothingUnlessACallerWaits) {
  MemoryStore memory;
  BackgroundWriter writer(ServedBy::thread);
  SaveFiles save(memory, writer);
  const auto file = save.store.open("a", Access::fresh);
  std::optional<BackgroundWriter::Hold> hold(writer);
  file->write_at(bytes("text"), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(save.batch->written(), 0);
  Bytes found(4);
  EXPECT_EQ(file->read_at(found, 0), 4u);  // waits
  EXPECT_EQ(found, bytes("text"));
  file->write_at(bytes("more"), 4);
  hold.reset();
  writer.drain(*save.batch);
  EXPECT_EQ(save.batch->written(), 8);
}

TEST(BackgroundStore, ThreadsShareAWriter) {
  MemoryStore memory;
  BackgroundWriter writer(ServedBy::thread);
  SaveFiles save(memory, writer, budget_of(3 * piece));
  const auto part = static_cast<size_t>(piece / 2 + 3);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const auto file = save.store.open("f" + std::to_string(t), Access::fresh);
      for (int i = 0; i < 8; ++i)
        file->write_at(pattern(part, 100 * t + static_cast<unsigned>(i)), i * std::ssize(Bytes(part)));
    });
  for (std::thread& thread : threads) thread.join();
  writer.drain(*save.batch);
  for (unsigned t = 0; t < 4; ++t) {
    const Bytes found = memory.contents("f" + std::to_string(t));
    for (unsigned i = 0; i < 8; ++i)
      ASSERT_TRUE(std::ranges::equal(std::span(found).subspan(i * part, part), pattern(part, 100 * t + i)));
  }
}

}  // namespace
}  // namespace sheaf::testing::background_store_test
