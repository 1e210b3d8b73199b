// Appending requires a journal. Without a journal, no data of the multifile would be readable after a crash.
#include <gtest/gtest.h>

#include "base/warnings.hpp"
#include "comm/agree.hpp"
#include "multifile/writer/writer.hpp"
#include "support/mapped.hpp"
#include "support/programs.hpp"
#include "support/stores/faulty_store.hpp"

namespace sheaf::test::append_journal_test {

using namespace multifile;

namespace {

class AppendJournal : public ::testing::Test {
 protected:
  AppendJournal() { take_warnings(); }
  ~AppendJournal() override { EXPECT_EQ(take_warnings(), std::vector<std::string>{}); }

  MemoryStore memory{4096, 512};
};

std::vector<std::byte> stream_of(Store& store, int64_t task) {
  Reader reader(store, "a", mode_of("r"));
  reader.select(task);
  std::vector<std::byte> bytes(1 << 20);
  bytes.resize(reader.stream().read(bytes));
  return bytes;
}

// Returns a plan in which all operations on journals fail from the k-th on.
FaultPlan failing_journals(int64_t k, int errno_value) {
  FaultPlan plan;
  plan.fail_at = k;
  plan.from_then_on = true;
  plan.errno_value = errno_value;
  plan.path_contains = ".journal";
  return plan;
}

// An append without a journal must fail, unless the open mode says journal=off: a crash would make the old
// data unreadable.
TEST_F(AppendJournal, NobodyAppendsWithoutOneUnlessAskedTo) {
  write_in_parallel(memory, "a", small_program(2));
  memory.add_directory("a.000001.journal");
  const auto append = [&](const std::string& words) {
    SharedHandles shared(memory);
    run_fibers(fibers(4), [&](Comm& comm) {
      const std::vector<int64_t> mine{comm.rank()};
      Writer writer(shared, comm.duplicate(), MappedAppendRequest{{"a", false, mine}, 0}, mode_of(words, 0));
      comm.barrier();
      EXPECT_FALSE(memory.status("a.journal").exists);
      if (comm.rank() != 1) writer.stream().write(content(9, 0, 100'000));  // task 1 has no chunk
      EXPECT_NO_THROW(writer.commit());
      comm.barrier();
      writer.close();
    });
  };
  const auto before = memory.contents("a.000001");
  for (const char* const words : {"append", "append,durable"}) {
    const auto refused = attempt([&] { append(words); });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code(), Code::foreign);
    EXPECT_NE(std::string(refused->what()).find("journal=off"), std::string::npos) << refused->what();
    EXPECT_EQ(memory.contents("a.000001"), before);
    EXPECT_FALSE(memory.status("a.journal").exists);
  }
  const auto size = std::ssize(stream_of(memory, 3));
  append("append,journal=off");
  EXPECT_EQ(std::ssize(stream_of(memory, 3)), size + 100'000);
}

// If the journal cannot be opened or written (no descriptor, I/O error, no permission), the append must fail
// and the file must stay unchanged.
TEST_F(AppendJournal, NobodyAppendsWhereTheJournalOfWhatIsThereFails) {
  write_in_parallel(memory, "a", small_program(2));
  const auto before = memory.contents("a");
  for (const int error : {EMFILE, EIO, EACCES}) {
    bool failed = true;
    for (int64_t k = 0; failed; ++k) {
      FaultyStore faulty(memory, failing_journals(k, error));
      SharedHandles shared(faulty);
      run_fibers(fibers(4), [&](Comm& comm) {
        const std::vector<int64_t> mine{comm.rank()};
        std::optional<Writer> writer;
        const auto refused = attempt([&] {
          writer.emplace(shared, comm.duplicate(), MappedAppendRequest{{"a", false, mine}, 0},
                         mode_of("append", 0));
        });
        if (comm.rank() == 0) failed = refused.has_value();
        if (writer) writer->discard();
      });
      EXPECT_EQ(memory.contents("a"), before);
      ASSERT_LT(k, 200);
    }
    for (const int file : {0, 1}) memory.remove(format::physical_name("a", file) + ".journal");
  }
}

// If the disk has no space for a journal of the existing data, the append must fail. Otherwise later writes
// would overwrite the block table, and its contents would be lost.
TEST_F(AppendJournal, NobodyAppendsWhereTheDiskHasNoRoomForWhatTheFileHolds) {
  write_in_parallel(memory, "a", small_program(2));
  const auto before = stream_of(memory, 3);
  FaultPlan full;
  full.fail_at = 0;
  full.from_then_on = true;
  full.errno_value = ENOSPC;
  full.kind = StoreOperation::write;
  full.path_contains = "journal";
  FaultyStore store(memory, full);
  SharedHandles shared(store);
  run_fibers(fibers(4), [&](Comm& comm) {
    const std::vector<int64_t> mine{comm.rank()};
    const auto append = [&] {
      Writer(shared, comm.duplicate(), MappedAppendRequest{{"a", false, mine}, 0}, mode_of("append", 0));
    };
    EXPECT_EQ(code_of(append), Code::no_space);
  });
  EXPECT_EQ(stream_of(memory, 3), before);
  EXPECT_FALSE(memory.status("a.journal").exists);
}

}  // namespace
}  // namespace sheaf::test::append_journal_test
