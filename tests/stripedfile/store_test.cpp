// A striped file as a File of a Store: locks, and many pieces at once.
#include "cluster.hpp"
#include "storage/decorators/throttled_file.hpp"
#include "storage/scattered.hpp"
#include "stripedfile/striped_store.hpp"

namespace sheaf::test::store_test {
namespace {

std::string path_on(int listeners) { return "sfio:unit=10;" + name_on(listeners, listeners); }

TEST(StripedLocks, KeepReadModifyWriteOfManyTasksApart) {
  Cluster cluster(4, 3);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    cluster.seed = seed;
    cluster.is_over = false;
    cluster.run([&](Cluster::Task& task) {
      const auto store = make_striped_store(task.link, nullptr);
      const auto file = store->open(path_on(3), Access::create);
      const auto bytes = [](int64_t& number) { return std::as_writable_bytes(std::span(&number, 1)); };
      int64_t number = 0;
      if (task.comm.rank() == 0) file->write_at(bytes(number), 7);
      task.comm.barrier();
      for (int i = 0; i < 5; ++i) {
        file->lock(7, 8, true);
        file->read_at(bytes(number), 7);
        ++number;
        file->write_at(bytes(number), 7);
        file->unlock(7, 8);
      }
      task.comm.barrier();
      file->read_at(bytes(number), 7);
      EXPECT_EQ(number, 20);
      file->close();
    });
  }
}

TEST(StripedLocks, OfOthersRangesAndSharedOnesDoNotWait) {
  Cluster cluster(2, 2);
  cluster.run([&](Cluster::Task& task) {
    const auto file = make_striped_store(task.link, nullptr)->open(path_on(2), Access::create);
    file->lock(100 * task.comm.rank(), 100, true);
    file->lock(500, 10, false);
    task.comm.barrier();
    file->unlock(500, 10);
    EXPECT_EQ(code_of([&] { file->unlock(500, 10); }), Code::invalid_argument);
    task.comm.barrier();
    if (task.comm.rank() == 0) file->close();  // gives back what it holds
    task.comm.barrier();
    if (task.comm.rank() == 1) file->lock(0, 100, true);
  });
}

void many_pieces(const std::shared_ptr<WriteSlots>& slots) {
  Cluster cluster(1, 4);
  cluster.run([&](Cluster::Task& task) {
    const auto file =
        throttled(make_striped_store(task.link, nullptr)->open(path_on(4), Access::create), slots);
    auto* const scattered = dynamic_cast<ScatteredFile*>(file.get());
    ASSERT_NE(scattered, nullptr);
    std::string text(900, 'x'), back(900, ' ');
    std::vector<ScatteredFile::Piece> writes, reads;
    for (int64_t i = 0; i < 300; ++i) {  // every third byte; pieces of three
      writes.push_back({9 * i, reinterpret_cast<std::byte*>(text.data()) + 3 * i, 3});
      reads.push_back({9 * i, reinterpret_cast<std::byte*>(back.data()) + 3 * i, 3});
    }
    const auto before = task.link->counts();
    scattered->write_scattered(writes);
    EXPECT_EQ(task.link->counts().messages - before.messages, 4);
    EXPECT_EQ(task.link->counts().bytes - before.bytes, 900);
    scattered->read_scattered(reads);
    EXPECT_EQ(task.link->counts().messages - before.messages, 8);
    EXPECT_EQ(back, text);
    file->close();
  });
}

TEST(StripedStore, ManyPiecesAreOneMessagePerListener) { many_pieces(nullptr); }

TEST(StripedStore, ManyPiecesAreOneMessagePerListenerAlsoWithFewTransfersAtOnce) {
  const auto slots = make_memory_slots(1);
  many_pieces(slots);
  EXPECT_EQ(slots->take(), 0);  // given back
  slots->give_back(0);
  MemoryStore plain;
  const auto file = throttled(plain.open("a", Access::create), slots);
  EXPECT_EQ(dynamic_cast<ScatteredFile*>(file.get()), nullptr);
}

}  // namespace
}  // namespace sheaf::test::store_test
