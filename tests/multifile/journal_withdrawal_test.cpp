// Records of a journal that are withdrawn after a failed write.
#include <gtest/gtest.h>

#include "multifile/journal/journal_writer.hpp"
#include "multifile/writer/writer.hpp"
#include "support/programs.hpp"
#include "support/stores/faulty_store.hpp"

namespace sheaf::test::journal_withdrawal_test {

using namespace multifile;

namespace {

// In collective writing, bytes after those of the last record may be in the memory of the task only.
TEST(JournalWithdrawal, CoversNoMoreBytesThanTheRecordsBefore) {
  constexpr int64_t chunk = 4096;
  const std::vector<int64_t> sizes{chunk, chunk}, ranks{0, 1};
  MemoryStore memory(4096, 512);
  const Writer writer(memory, SerialWriteRequest{"a", sizes, ranks, chunk}, mode_of("w"));
  const auto data = memory.open("a", Access::write);
  MetadataReader metadata(*data);
  JournalWriter journal(memory, JournalKey::of(metadata.header(), metadata.extension()),
                        Journaling::best_effort);
  journal.defer([] { return nullptr; });
  const auto recorded = [&] { return std::ssize(stream_of(memory, "a", 1)); };
  // Bytes that no task has written are holes, which read as zeros.
  data->resize(3 * chunk);

  journal.report(*data, {1, 0, 10, false});
  journal.confirm(*data);
  EXPECT_EQ(recorded(), 10);
  journal.report(*data, {1, 0, 3000, true});
  journal.withdraw(1, 0, 1, 2000);
  EXPECT_EQ(recorded(), 10) << "the record of 3000 bytes was not written";
  EXPECT_EQ(journal.waiting(), 0);
  journal.report(*data, {1, 0, 3000, true});
  journal.confirm(*data);
  EXPECT_EQ(recorded(), 3000);
  journal.withdraw(1, 0, 1, 2000);
  EXPECT_EQ(recorded(), 2000);
}

// A withdrawal that could not be written is repeated together with the next one.
TEST(JournalWithdrawal, IsNotForgottenAfterAFailure) {
  constexpr int64_t chunk = 4096;
  const std::vector<int64_t> sizes{chunk, chunk}, ranks{0, 1};
  MemoryStore memory(4096, 512);
  const Writer writer(memory, SerialWriteRequest{"a", sizes, ranks, chunk}, mode_of("w"));
  const auto data = memory.open("a", Access::write);
  data->resize(9 * chunk);
  MetadataReader metadata(*data);
  FaultyStore store(memory);
  JournalWriter journal(store, JournalKey::of(metadata.header(), metadata.extension()),
                        Journaling::best_effort);
  for (const int64_t block : {0, 1, 2}) journal.report(*data, {1, block, chunk, true});
  journal.confirm(*data);
  EXPECT_EQ(std::ssize(stream_of(memory, "a", 1)), 3 * chunk);
  store.set_plan({.fail_at = 0, .kind = StoreOperation::write});
  journal.withdraw(1, 0, 3, 100);
  EXPECT_EQ(store.failed(), 1);
  journal.withdraw(1, 1, 2, 50);
  EXPECT_EQ(std::ssize(stream_of(memory, "a", 1)), 100);
}

}  // namespace
}  // namespace sheaf::test::journal_withdrawal_test
