// Requires that the k-th operation fails as planned, and that all operations are counted.
#include "support/stores/faulty_store.hpp"

#include "support/stores/memory_store.hpp"
#include "testing.hpp"

namespace sheaf::testing::faulty_store_test {
namespace {

class FaultyStoreTest : public ::testing::Test {
 protected:
  // Performs ten operations on file `name`, of each kind but status and next.
  void use(const std::string& name) {
    const auto file = store.open(name, Access::fresh);
    file->write_at(bytes("0123456789"), 0);
    copy_range(*file, *file, 0, 10, 5);
    file->resize(12);
    Bytes buffer(100);
    file->read_at(buffer, 0);
    file->sync();
    file->close();
    store.rename(name, name + "2");
    store.remove(name + "2");
  }

  // Repeats use(). In each run the plan fails the next operation, from operation 0 until none is left.
  // Returns the number of failures.
  int64_t sweep(FaultPlan plan) {
    for (plan.fail_at = 0;; ++plan.fail_at) {
      for (const auto& path : memory.paths()) memory.remove(path);
      store.set_plan(plan);
      try {
        use("a");
        return plan.fail_at;
      } catch (const Error& error) {
        EXPECT_EQ(error.errno_value(), plan.errno_value);
        EXPECT_EQ(store.matched(), plan.fail_at + 1);
      }
    }
  }

  MemoryStore memory;
  FaultyStore store{memory};
};

TEST_F(FaultyStoreTest, CountsOperationsAndBytes) {
  use("a");
  EXPECT_EQ(store.operations(), 10);
  for (const auto kind : {StoreOperation::open, StoreOperation::resize, StoreOperation::sync,
                          StoreOperation::close, StoreOperation::rename, StoreOperation::remove})
    EXPECT_EQ(store.operations(kind), 1) << name_of(kind);
  EXPECT_EQ(store.operations(StoreOperation::write), 2) << "and a copy";
  EXPECT_EQ(store.operations(StoreOperation::read), 2);
  EXPECT_EQ(store.bytes_written(), 15);
  EXPECT_EQ(store.bytes_read(), 17);
  EXPECT_EQ(store.failed(), 0);
  const auto file = store.open("a", Access::fresh);
  file->status();
  store.status("a");
  file->next(Space::data, 0);
  EXPECT_EQ(store.operations(StoreOperation::status), 2);
  EXPECT_EQ(store.operations(StoreOperation::next), 1);
}

TEST_F(FaultyStoreTest, LogsKindPathOffsetAndLength) {
  const auto file = store.open("a", Access::fresh);
  const auto data = bytes("abc");
  const Piece<const std::byte> pieces[] = {{7, data}, {10, data}};
  file->write_pieces(pieces);
  file->resize(99);
  const auto log = store.log();
  ASSERT_EQ(log.size(), 3u);
  EXPECT_EQ(log[0].kind, StoreOperation::open);
  EXPECT_EQ(log[1].kind, StoreOperation::write);
  EXPECT_EQ(log[1].path, "a");
  EXPECT_EQ(log[1].offset, 7);
  EXPECT_EQ(log[1].length, 6);
  EXPECT_EQ(log[2].offset, 99);
  store.clear_log();
  EXPECT_TRUE(store.log().empty());
  store.keep_log(false);
  file->sync();
  EXPECT_TRUE(store.log().empty());
  EXPECT_EQ(store.operations(), 4);
}

TEST_F(FaultyStoreTest, ASweepFailsEveryOperationOnce) {
  EXPECT_EQ(sweep({.errno_value = EIO, .kind = {}, .path_contains = {}}), 10);
  EXPECT_EQ(store.failed(), 10);
}

TEST_F(FaultyStoreTest, PlansChooseByKindAndPath) {
  EXPECT_EQ(sweep({.errno_value = ENOSPC, .kind = StoreOperation::write, .path_contains = {}}), 2);
  EXPECT_EQ(sweep({.errno_value = EACCES, .kind = {}, .path_contains = "2"}), 1);
  EXPECT_EQ(sweep({.errno_value = EACCES, .kind = {}, .path_contains = "nowhere"}), 0);
}

TEST_F(FaultyStoreTest, ErrorsCarryCodePathAndKind) {
  store.set_plan({.fail_at = 0, .errno_value = ENOSPC, .kind = StoreOperation::write, .path_contains = {}});
  const auto file = store.open("a", Access::fresh);
  const auto error = error_of([&] { file->write_at(bytes("abc"), 0); });
  EXPECT_EQ(error.code(), Code::no_space);
  EXPECT_NE(std::string(error.what()).find("write 'a'"), std::string::npos) << error.what();
}

TEST_F(FaultyStoreTest, FailsOnceOrFromThenOn) {
  const auto file = store.open("a", Access::fresh);
  FaultPlan plan{.fail_at = 1, .kind = StoreOperation::write, .path_contains = {}};
  store.set_plan(plan);
  EXPECT_NO_THROW(file->write_at(bytes("a"), 0));
  EXPECT_THROW(file->write_at(bytes("b"), 0), Error);
  EXPECT_NO_THROW(file->write_at(bytes("c"), 0));
  plan.from_then_on = true;
  store.set_plan(plan);
  EXPECT_NO_THROW(file->write_at(bytes("d"), 0));
  EXPECT_THROW(file->write_at(bytes("e"), 0), Error);
  EXPECT_THROW(file->write_at(bytes("f"), 0), Error);
  EXPECT_NO_THROW(file->sync());
  EXPECT_EQ(text(memory.contents("a")), "d");
}

TEST_F(FaultyStoreTest, FailedTransfersMoveNothingOrHalf) {
  memory.set_contents("a", bytes(".........."));
  const auto file = store.open("a", Access::write);
  FaultPlan plan{.fail_at = 0, .from_then_on = true, .kind = {}, .path_contains = {}};
  store.set_plan(plan);
  EXPECT_THROW(file->write_at(bytes("abcd"), 0), Error);
  EXPECT_EQ(text(memory.contents("a")), "..........");

  plan.half_first = true;
  store.set_plan(plan);
  EXPECT_THROW(file->write_at(bytes("abcd"), 0), Error);
  EXPECT_EQ(text(memory.contents("a")), "ab........");
  const auto part = bytes("xyz");
  const Piece<const std::byte> pieces[] = {{2, part}, {5, part}, {8, part}};
  EXPECT_THROW(file->write_pieces(pieces), Error);
  EXPECT_EQ(text(memory.contents("a")), "abxyzx....");
  Bytes buffer = bytes("????");
  EXPECT_THROW(file->read_at(buffer, 0), Error);
  EXPECT_EQ(text(buffer), "ab??");
  EXPECT_EQ(store.bytes_written(), 0);
}

TEST_F(FaultyStoreTest, AFailingCloseReleasesTheFile) {
  const auto file = store.open("a", Access::fresh);
  store.set_plan({.fail_at = 0, .kind = StoreOperation::close, .path_contains = {}});
  EXPECT_EQ(error_of([&] { file->close(); }).errno_value(), EIO);
  EXPECT_EQ(error_of([&] { file->sync(); }).errno_value(), EBADF);
}

TEST_F(FaultyStoreTest, NothingGoesRoundTheCounting) {
  TemporaryDirectory directory;
  FaultyStore faulty(posix_store());
  const auto to = faulty.open(directory / "to", Access::fresh);
  EXPECT_EQ(to->descriptor(DescriptorKind::file).number, -1);
  const auto from = posix_store().open(directory / "from", Access::fresh);
  from->write_at(bytes("abc"), 0);
  copy_range(*from, *to, 0, 0, 3);
  EXPECT_EQ(faulty.operations(StoreOperation::write), 1);
}

TEST_F(FaultyStoreTest, FilesOutliveTheDecorator) {
  std::shared_ptr<File> file;
  {
    FaultyStore local(memory);
    file = local.open("a", Access::fresh);
  }
  EXPECT_NO_THROW(file->write_at(bytes("abc"), 0));
}

}  // namespace
}  // namespace sheaf::testing::faulty_store_test
