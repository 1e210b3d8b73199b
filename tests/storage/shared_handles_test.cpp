// Tasks of one process that open the same path share one open file, which the last task closes.
#include "storage/decorators/shared_handles.hpp"

#include <fcntl.h>
#include <malloc.h>

#include <thread>

#include "support/stores/faulty_store.hpp"
#include "support/stores/memory_store.hpp"
#include "testing.hpp"

namespace sheaf::testing::shared_handles_test {
namespace {

class SharedHandlesTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory;
  SharedHandles store{posix_store()};
  const std::string path = directory / "a";
};

TEST_F(SharedHandlesTest, OpensOfOnePathShareAFile) {
  const auto creator = store.open(path, Access::fresh);
  EXPECT_EQ(store.open(path, Access::write), creator);
  EXPECT_EQ(store.open(path, Access::create), creator);
  const auto reader = store.open(path, Access::read);
  EXPECT_NE(reader, creator);
  EXPECT_EQ(store.open(path, Access::read), reader);
  EXPECT_EQ(store.open_files(), 2u);
  EXPECT_NE(store.open(directory / "b", Access::create), creator);
}

TEST_F(SharedHandlesTest, HolesAreSeenThroughIt) {
  MemoryStore memory;
  SharedHandles shared(memory);
  const auto file = shared.open("a", Access::fresh);
  file->resize(10'000);
  EXPECT_EQ(file->next(Space::hole, 7), 7);
  EXPECT_EQ(file->next(Space::data, 7), 10'000);
}

TEST_F(SharedHandlesTest, FreshNeverJoins) {
  const auto file = store.open(path, Access::fresh);
  EXPECT_EQ(error_of([&] { store.open(path, Access::fresh); }).errno_value(), EEXIST);
  EXPECT_EQ(store.open(path, Access::write), file);
}

TEST_F(SharedHandlesTest, OnlyTheLastCloseCloses) {
  const auto first = store.open(path, Access::fresh);
  const auto second = store.open(path, Access::write);
  const auto third = store.open(path, Access::write);
  const int fd = first->descriptor(DescriptorKind::file).number;
  first->close();
  second->close();
  EXPECT_NE(::fcntl(fd, F_GETFD), -1);
  EXPECT_NO_THROW(third->write_at(bytes("abc"), 0));
  third->close();
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
  EXPECT_EQ(store.open_files(), 0u);
}

TEST_F(SharedHandlesTest, ReopeningAfterTheLastCloseOpensAnew) {
  const auto old = store.open(path, Access::fresh);
  old->close();
  const auto file = store.open(path, Access::write);
  EXPECT_NE(file, old);
  EXPECT_NO_THROW(old->close());
  EXPECT_NO_THROW(file->write_at(bytes("abc"), 0));
}

TEST_F(SharedHandlesTest, DroppingAllHoldersCloses) {
  auto first = store.open(path, Access::fresh);
  auto second = store.open(path, Access::write);
  const int fd = first->descriptor(DescriptorKind::file).number;
  first.reset();
  EXPECT_NE(::fcntl(fd, F_GETFD), -1);
  second.reset();
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
  EXPECT_EQ(store.open_files(), 0u);
}

TEST_F(SharedHandlesTest, RemovedNamesAreForgotten) {
  const auto old = store.open(path, Access::fresh);
  old->write_at(bytes("old"), 0);
  store.remove(path);
  EXPECT_EQ(error_of([&] { store.open(path, Access::write); }).code(), Code::not_found);
  const auto file = store.open(path, Access::fresh);
  EXPECT_NE(file, old);
  old->close();
  EXPECT_EQ(store.open(path, Access::write), file) << "closing the removed file forgot the new one";
}

TEST_F(SharedHandlesTest, RenamedNamesAreForgotten) {
  const auto file = store.open(path, Access::fresh);
  const auto replaced = store.open(directory / "b", Access::fresh);
  file->write_at(bytes("new"), 0);
  store.rename(path, directory / "b");
  EXPECT_EQ(error_of([&] { store.open(path, Access::write); }).code(), Code::not_found);
  EXPECT_EQ(read_text(*store.open(directory / "b", Access::write), 0, 9), "new");
}

TEST_F(SharedHandlesTest, FailedRemovesForgetNothing) {
  FaultyStore faulty(posix_store());
  SharedHandles shared(faulty);
  const auto file = shared.open(path, Access::fresh);
  faulty.set_plan({.fail_at = 0, .from_then_on = true, .kind = {}, .path_contains = {}});
  EXPECT_THROW(shared.remove(path), Error);
  EXPECT_THROW(shared.rename(path, directory / "b"), Error);
  EXPECT_THROW(shared.rename(directory / "b", path), Error);
  EXPECT_EQ(shared.open(path, Access::write), file);
}

TEST_F(SharedHandlesTest, FilesOutliveTheDecorator) {
  std::shared_ptr<File> file;
  {
    SharedHandles local(posix_store());
    file = local.open(path, Access::fresh);
  }
  file->write_at(bytes("abc"), 0);
  EXPECT_NO_THROW(file->close());
}

TEST_F(SharedHandlesTest, OpensAfterTheFirstTakeNoMemory) {
  constexpr size_t count = 10'000;
  std::vector<std::shared_ptr<File>> files;
  files.reserve(count + 1);
  files.push_back(store.open(path, Access::fresh));
  const auto before = ::mallinfo2().uordblks;
  for (size_t i = 0; i < count; ++i) files.push_back(store.open(path, Access::write));
  const auto after = ::mallinfo2().uordblks;
  EXPECT_LT(after - before, count / 10) << "bytes for " << count << " opens";
  for (const auto& file : files) file->close();
}

TEST_F(SharedHandlesTest, ThreadsOpenAndCloseAtOnce) {
  store.open(path, Access::fresh)->close();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int64_t round = 0; round < 500; ++round) {
        auto file = store.open(path, Access::write);
        file->write_at(bytes("x"), i);
        if (round % 2 == 0) file->close();
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(store.open_files(), 0u);
  EXPECT_EQ(read_text(*store.open(path, Access::read), 0, 9), "xxxx");
}

}  // namespace
}  // namespace sheaf::testing::shared_handles_test
