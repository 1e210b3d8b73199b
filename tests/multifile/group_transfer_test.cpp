#include "multifile/collective/group_transfer.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "comm/agree.hpp"
#include "comm/shared_memory.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/forwarding_comm.hpp"
#include "support/stores/faulty_store.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::group_transfer_test {

using namespace multifile;

namespace {

constexpr int tasks = 7;

// Returns a group of this task: tasks 0 to 2 form one group, the others a second one.
CollectiveGroup group_of(Comm& comm) {
  return {comm, comm.rank() < 3 ? layout::GroupPlace{0, 3, 0, 0, 2} : layout::GroupPlace{3, 4, 0, 1, 2}, {}};
}

// The extents and bytes of one task, in no file order. Extent i of task t holds bytes 10 i + t. Task 4 has no
// bytes.
struct Own {
  explicit Own(int task, int64_t count = 5) {
    for (int64_t i = task == 4 ? count : 0; i < count; ++i) {
      const int64_t length = 1 + (task + i) % 3;
      extents.push_back({((i * 3) % count * tasks + task) * 3, length});
      bytes.insert(bytes.end(), static_cast<size_t>(length), static_cast<std::byte>(10 * i + task));
    }
  }
  std::vector<Extent> extents;
  std::vector<std::byte> bytes;
};

GroupTransfer::Load load_of(Comm& comm, const Own& own, int64_t each) {
  int64_t most[] = {std::ssize(own.bytes), std::ssize(own.extents)};
  comm.all_max(most);
  return {most[0], most[1], each};
}

std::vector<std::byte> in_file() {
  std::vector<std::byte> all;
  for (int t = 0; t < tasks; ++t) {
    const Own own(t);
    size_t at = 0;
    for (const Extent& extent : own.extents) {
      all.resize(std::max(all.size(), static_cast<size_t>(extent.end())));
      std::copy_n(own.bytes.begin() + static_cast<ptrdiff_t>(at), extent.length,
                  all.begin() + static_cast<ptrdiff_t>(extent.offset));
      at += static_cast<size_t>(extent.length);
    }
  }
  return all;
}

// Bytes must be the same after one step, after two steps that share the memory, and byte by byte.
TEST(GroupTransfer, BytesGoThroughCollectorsThereAndBack) {
  for (const int64_t each : {100, 8, 2, 1}) {
    SCOPED_TRACE(each);
    MemoryStore memory;
    memory.open("a", Access::create);
    FaultyStore counting(memory);
    run_fibers({.ranks = tasks}, [&](Comm& comm) {
      const auto group = group_of(comm);
      const Own own(comm.rank());
      GroupTransfer transfer(group);
      transfer.reserve(each);
      const auto load = load_of(comm, own, each);
      const auto file = group.is_collector() ? counting.open("a", Access::write) : nullptr;
      const auto none = memory.open("none " + std::to_string(comm.rank()), Access::create);
      File& target = file ? *file : *none;
      agree(comm, transfer.write(target, {own.extents, own.bytes}, load));
      comm.barrier();
      std::vector<std::byte> back(own.bytes.size());
      agree(comm, transfer.read(target, {own.extents, back}, load));
      if (back != own.bytes) throw std::logic_error("bytes of task " + std::to_string(comm.rank()));
    });
    EXPECT_EQ(memory.contents("a"), in_file());
    EXPECT_EQ(counting.operations(StoreOperation::open), 2);
  }
}

TEST(GroupTransfer, AFailureEndsNoStepsAndIsKnownAtTheCollector) {
  MemoryStore memory;
  memory.open("a", Access::create);
  FaultyStore faulty(memory);
  run_fibers({.ranks = tasks}, [&](Comm& comm) {
    const auto group = group_of(comm);
    const Own own(comm.rank());
    GroupTransfer transfer(group);
    transfer.reserve(4);
    const auto load = load_of(comm, own, 4);
    const auto file = group.is_collector() ? faulty.open("a", Access::write) : nullptr;
    const auto none = memory.open("none " + std::to_string(comm.rank()), Access::create);
    File& target = file ? *file : *none;
    comm.barrier();
    if (comm.rank() == 0) faulty.set_plan(FaultPlan{0, {}, true, EIO, false, false, {}, {}});
    comm.barrier();
    if (transfer.write(target, {own.extents, own.bytes}, load).has_value() != group.is_collector())
      throw std::logic_error("failure to write");
    std::vector<std::byte> back(own.bytes.size());
    if (transfer.read(target, {own.extents, back}, load).has_value() != group.is_collector())
      throw std::logic_error("failure to read");
  });
}

// Counts messages to other tasks.
class MessageCountingComm final : public test::ForwardingComm {
 public:
  MessageCountingComm(std::unique_ptr<Comm> comm, int64_t& sent)
      : ForwardingComm(std::move(comm)), sent_(sent) {}
  std::unique_ptr<Exchange> exchange(std::vector<Outgoing> outgoing,
                                     std::vector<Incoming> incoming) override {
    for (const Outgoing& message : outgoing) sent_ += message.peer != rank();
    return comm_->exchange(std::move(outgoing), std::move(incoming));
  }

 private:
  std::unique_ptr<Comm> wrap(std::unique_ptr<Comm> comm) override {
    return std::make_unique<MessageCountingComm>(std::move(comm), sent_);
  }
  int64_t& sent_;
};

// Task 4 has no bytes and must send one message. The others have 9 to 11 bytes, which travel in steps of 5.
TEST(GroupTransfer, WhoHasNothingSendsOneMessage) {
  std::vector<int64_t> sent(tasks);
  MemoryStore memory;
  memory.open("a", Access::create);
  run_fibers({.ranks = tasks}, [&](Comm& comm) {
    MessageCountingComm counted(comm.duplicate(), sent[static_cast<size_t>(comm.rank())]);
    const CollectiveGroup group(counted, 0);
    const Own own(comm.rank());
    GroupTransfer transfer(group);
    transfer.reserve(10);
    const auto load = load_of(comm, own, 10);
    const auto file = memory.open("a", Access::write);
    agree(comm, transfer.write(*file, {own.extents, own.bytes}, load));
  });
  EXPECT_EQ(memory.contents("a"), in_file());
  EXPECT_EQ(sent, (std::vector<int64_t>{0, 4, 3, 3, 1, 3, 3}));
}

TEST(GroupTransfer, MembersAreMergedInTheirOrder) {
  for (const int64_t room : {1000, 7, 2}) {
    SCOPED_TRACE(room);
    std::vector<std::byte> merged[2];
    std::vector<int64_t> pieces[2];
    run_fibers({.ranks = tasks}, [&](Comm& comm) {
      const auto group = group_of(comm);
      const Own own(comm.rank());
      GroupTransfer transfer(group);
      transfer.reserve(room);
      const size_t number = comm.rank() < 3 ? 0 : 1;
      agree(comm, transfer.merge(own.bytes, room, [&](std::span<const std::byte> bytes, int64_t piece) {
        merged[number].insert(merged[number].end(), bytes.begin(), bytes.end());
        if (piece > 0) pieces[number].push_back(piece);
      }));
    });
    for (size_t number = 0; number < 2; ++number) {
      std::vector<std::byte> expected;
      std::vector<int64_t> sizes;
      for (int t = number ? 3 : 0; t < (number ? tasks : 3); ++t) {
        const Own own(t);
        expected.insert(expected.end(), own.bytes.begin(), own.bytes.end());
        if (!own.bytes.empty()) sizes.push_back(std::ssize(own.bytes));
      }
      EXPECT_EQ(merged[number], expected);
      EXPECT_EQ(pieces[number], sizes);
    }
  }
}

}  // namespace
}  // namespace sheaf::group_transfer_test
