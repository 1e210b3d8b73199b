// A striped file as a File of a Store: locks, and many pieces at once.
#include "cluster.hpp"
#include "sfio/striped_store.hpp"
#include "storage/decorators/throttled_file.hpp"

namespace sheaf::test::store_test {
namespace {

std::string path_on(int listeners) { return "sfio:unit=10;" + name_on(listeners, listeners); }

TEST(StripedLocks, KeepReadModifyWriteOfManyTasksApart) {
  StripedCluster cluster(4, 3);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    cluster.seed = seed;
    cluster.is_over = false;
    cluster.run([&](StripedCluster::ComputeTask& task) {
      const auto store = make_striped_store(task.link);
      const auto file = store->open(path_on(3), Access::create);
      const auto bytes = [](int64_t& number) { return std::as_writable_bytes(std::span(&number, 1)); };
      int64_t number = 0;
      if (task.comm.rank() == 0) file->write_at(bytes(number), 7);
      task.comm.barrier();
      for (int i = 0; i < 5; ++i) {
        const RangeLock lock = file->lock(7, 8, true);
        file->read_at(bytes(number), 7);
        ++number;
        file->write_at(bytes(number), 7);
      }
      task.comm.barrier();
      file->read_at(bytes(number), 7);
      EXPECT_EQ(number, 20);
      file->close();
    });
  }
}

TEST(StripedLocks, OfOthersRangesAndSharedOnesDoNotWait) {
  StripedCluster cluster(2, 2);
  cluster.run([&](StripedCluster::ComputeTask& task) {
    const auto file = make_striped_store(task.link)->open(path_on(2), Access::create);
    const RangeLock own = file->lock(100 * task.comm.rank(), 100, true);
    RangeLock shared = file->lock(500, 10, false);
    EXPECT_TRUE(own && shared);
    EXPECT_FALSE(file->lock(100 * (1 - task.comm.rank()) + 99, 1, false, OnConflict::refusal));
    task.comm.barrier();
    shared = {};
    task.comm.barrier();
    EXPECT_TRUE(task.comm.rank() == 1 || file->lock(500, 10, true, OnConflict::refusal));
    task.comm.barrier();
    if (task.comm.rank() == 0) file->close();  // releases its locks
    task.comm.barrier();
    EXPECT_TRUE(task.comm.rank() == 0 || file->lock(0, 100, true));
  });
}

void many_pieces(const std::shared_ptr<WriteSlots>& slots) {
  StripedCluster cluster(1, 4);
  cluster.run([&](StripedCluster::ComputeTask& task) {
    const auto file = throttled(make_striped_store(task.link)->open(path_on(4), Access::create), slots);
    EXPECT_TRUE(file->traits().dear_requests);
    std::string text(900, 'x'), back(900, ' ');
    std::vector<Piece<const std::byte>> writes;
    std::vector<Piece<std::byte>> reads;
    for (size_t i = 0; i < 300; ++i) {  // every third byte; pieces of three
      writes.push_back({static_cast<int64_t>(9 * i), std::as_bytes(std::span(text)).subspan(3 * i, 3)});
      reads.push_back(
          {static_cast<int64_t>(9 * i), std::as_writable_bytes(std::span(back)).subspan(3 * i, 3)});
    }
    const auto before = task.link->counts();
    file->write_pieces(writes);
    EXPECT_EQ(task.link->counts().messages - before.messages, 4);
    EXPECT_EQ(task.link->counts().bytes - before.bytes, 900);
    file->read_pieces(reads);
    EXPECT_EQ(task.link->counts().messages - before.messages, 8);
    EXPECT_EQ(back, text);
    file->close();
  });
}

TEST(StripedStore, ManyPiecesAreOneMessagePerListener) { many_pieces(nullptr); }

TEST(StripedStore, ManyPiecesAreOneMessagePerListenerAlsoWithFewTransfersAtOnce) {
  const auto slots = make_memory_slots(1);
  many_pieces(slots);
  EXPECT_EQ(slots->take(), 0);  // released
  slots->give_back(0);
  MemoryStore plain;
  const auto file = throttled(plain.open("a", Access::create), slots);
  EXPECT_FALSE(file->traits().dear_requests);
}

}  // namespace
}  // namespace sheaf::test::store_test
