// Memory that other processes map. With the right facts they must find the same bytes, with wrong ones none.
#include "base/os/lent_memory.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace sheaf::lent_memory_test {
namespace {

TEST(LentMemory, IsTheSameWhereItIsBorrowed) {
  for (const size_t size : {size_t{1}, size_t{4096}, size_t{100'001}}) {
    const auto mine = LendableMemory::make(size);
    const auto there = BorrowedMemory::map(mine->lent().facts);
    ASSERT_TRUE(there);
    ASSERT_EQ(there->bytes().size(), size);
    EXPECT_NE(there->bytes().data(), mine->bytes().data());
    mine->bytes().back() = std::byte{7};
    EXPECT_EQ(there->bytes().back(), std::byte{7});
    there->bytes().front() = std::byte{9};
    EXPECT_EQ(mine->bytes().front(), std::byte{9});
  }
}

TEST(LentMemory, IsFoundByAnotherProcessAndOutlivesItsOwner) {
  auto mine = LendableMemory::make(5000);
  const LoanFacts facts = mine->lent().facts;
  const pid_t child = fork();
  if (child == 0) {
    const auto there = BorrowedMemory::map(facts);
    if (!there) _exit(1);
    std::memset(there->bytes().data(), 3, 5000);
    _exit(0);
  }
  int ended = -1;
  ASSERT_EQ(waitpid(child, &ended, 0), child);
  ASSERT_EQ(ended, 0);
  const auto there = BorrowedMemory::map(facts);
  mine.reset();
  ASSERT_TRUE(there);
  EXPECT_EQ(there->bytes()[4999], std::byte{3});
  EXPECT_FALSE(BorrowedMemory::map(facts));
}

TEST(LentMemory, IsLentUntilItIsCalledBack) {
  const auto mine = LendableMemory::make(4096);
  const LoanFacts facts = mine->lent().facts;
  const auto there = BorrowedMemory::map(facts);
  ASSERT_TRUE(there && there->is_lent(facts));
  LentMemory part = mine->lent();
  part.bytes = part.bytes.first(10);
  call_back(part);
  EXPECT_FALSE(there->is_lent(facts));
  EXPECT_FALSE(BorrowedMemory::map(facts));
  EXPECT_TRUE(BorrowedMemory::map(mine->lent().facts));
}

TEST(LentMemory, NobodyBorrowsWhatIsSomethingElse) {
  const auto mine = LendableMemory::make(4096);
  const auto other = LendableMemory::make(4096);
  const LoanFacts facts = mine->lent().facts;
  const auto refused = [&](auto change) {
    LoanFacts wrong = facts;
    change(wrong);
    return BorrowedMemory::map(wrong) == nullptr;
  };
  EXPECT_FALSE(refused([](LoanFacts&) {}));
  EXPECT_TRUE(refused([](LoanFacts& f) { ++f.secret; }));
  EXPECT_TRUE(refused([&](LoanFacts& f) { f.descriptor = other->lent().facts.descriptor; }));
  EXPECT_TRUE(refused([](LoanFacts& f) { f.descriptor = 999; }));
  EXPECT_TRUE(refused([](LoanFacts& f) { f.descriptor = -1; }));
  EXPECT_TRUE(refused([](LoanFacts& f) { f.process = 0; }));
  for (const int64_t bytes : {int64_t{-1}, int64_t{0}, int64_t{100}, int64_t{1} << 40, INT64_MAX})
    EXPECT_TRUE(refused([&](LoanFacts& f) { f.bytes = bytes; })) << bytes;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_TRUE(refused([&](LoanFacts& f) { f.descriptor = ends[0]; }));
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace sheaf::lent_memory_test
