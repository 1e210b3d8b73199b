// Writers whose journal cannot be created or written, or belongs to another program.
#include "multifile/journal/journal_writer.hpp"

#include <gtest/gtest.h>

#include "base/warnings.hpp"
#include "multifile/recover/repair.hpp"
#include "multifile/writer/writer.hpp"
#include "support/mapped.hpp"
#include "support/programs.hpp"
#include "support/stores/faulty_store.hpp"

namespace sheaf::test::journal_failures_test {

using namespace multifile;

namespace {

constexpr int64_t chunk = 4096;
constexpr int64_t piece = 3000;

std::vector<std::byte> stream_of(Store& store, int64_t task = 0) {
  Reader reader(store, "a", mode_of("r"));
  reader.select(task);
  std::vector<std::byte> bytes(1 << 20);
  bytes.resize(reader.stream().read(bytes));
  return bytes;
}

// A serial program on a file system whose pages are as small as its holes.
struct Serial {
  explicit Serial(Store& store, const std::string& words, int64_t tasks = 1)
      : sizes(static_cast<size_t>(tasks), chunk), ranks(sizes.size()), done(sizes.size()) {
    for (size_t t = 0; t < ranks.size(); ++t) ranks[t] = static_cast<int64_t>(t);
    writer.emplace(store, SerialWriteRequest{"a", sizes, ranks, static_cast<int32_t>(chunk)},
                   mode_of(words, 1000));
  }
  void write(int64_t task = 0) {
    writer->select(task);
    int64_t& at = done[static_cast<size_t>(task)];
    writer->stream().write(content(task, at, piece));
    at += piece;
  }
  std::vector<int64_t> sizes, ranks, done;
  std::optional<Writer> writer;
};

// Returns a plan in which the k-th operation fails, of `kind` if given, on a journal or on any file.
FaultPlan failing(int64_t k, bool from_then_on, int errno_value, std::optional<StoreOperation> kind = {},
                  const std::string& path = ".journal") {
  FaultPlan plan;
  plan.fail_at = k;
  plan.from_then_on = from_then_on;
  plan.errno_value = errno_value;
  plan.half_first = true;
  plan.kind = kind;
  plan.path_contains = path;
  return plan;
}

class JournalFailures : public ::testing::Test {
 protected:
  JournalFailures() { take_warnings(); }
  ~JournalFailures() override { EXPECT_EQ(take_warnings(), std::vector<std::string>{}); }
  void expect_one_warning(const std::string& about = "a.journal") {
    const auto told = take_warnings();
    ASSERT_EQ(told.size(), 1u);
    EXPECT_NE(told[0].find("without a journal"), std::string::npos) << told[0];
    EXPECT_NE(told[0].find(about), std::string::npos) << told[0];
  }
  // Requires that `found` begins with the data that the task wrote, followed by zeros only.
  static void expect_all(const std::vector<std::byte>& found, int64_t task, int64_t bytes,
                         bool exact = true) {
    ASSERT_GE(std::ssize(found), bytes);
    const auto expected = content(task, 0, bytes);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found.begin()));
    if (exact) {
      EXPECT_EQ(std::ssize(found), bytes);
    }
  }

  MemoryStore memory{4096, 512};
  WorkProgress quiet;
};

TEST_F(JournalFailures, WhereNoneCanBeMadeTheTaskGoesOnWithAWarning) {
  memory.add_directory("a.journal");
  Serial program(memory, "w");
  for (int i = 0; i < 5; ++i) {
    EXPECT_NO_THROW(program.write());
    EXPECT_NO_THROW(program.writer->commit());
  }
  expect_one_warning();
  program.writer->close();
  expect_all(stream_of(memory), 0, 5 * piece);
}

TEST_F(JournalFailures, WhereNoneCanBeMadeNoReaderTakesTheFileForEmpty) {
  memory.add_directory("a.journal");
  Serial program(memory, "w", 2);
  for (int i = 0; i < 4; ++i) program.write(1);
  program.writer->commit();
  expect_one_warning();
  EXPECT_EQ(code_of([&] { stream_of(memory); }), Code::unclosed);
  EXPECT_EQ(repair(memory, "a", {}, quiet).files.front().source, RepairSource::holes);
}

TEST_F(JournalFailures, DurableNeedsItsJournalAndCanBeTriedAgain) {
  FaultyStore faulty(memory, failing(0, true, EACCES, StoreOperation::open));
  Serial program(faulty, "w,durable");
  program.write();
  for (int i = 0; i < 2; ++i) {
    const auto refused = attempt([&] { program.writer->commit(); });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code(), Code::permission);
    EXPECT_NE(std::string(refused->what()).find("journal=off"), std::string::npos) << refused->what();
  }
  faulty.set_plan({});
  EXPECT_NO_THROW(program.writer->commit());
  expect_all(stream_of(memory), 0, piece);
  program.writer->close();
  expect_all(stream_of(memory), 0, piece);
}

TEST_F(JournalFailures, OnceNotSyncedDurableFlushesFailEverAfter) {
  FaultyStore faulty(memory, failing(0, false, EIO, StoreOperation::sync));
  Serial program(faulty, "w,durable");
  program.write();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(code_of([&] { program.writer->commit(); }), Code::io);
  program.writer->close();
  expect_all(stream_of(memory), 0, piece);
}

// The k-th operation on the journal fails, alone or with all later ones. Writes must continue. Readers must
// find the data of every successful flush, whatever fails later.
TEST_F(JournalFailures, ThatFailsMakesFlushesFailAndNoFlushThatSucceedsIsLost) {
  for (const int error : {EIO, EMFILE})
    for (const bool from_then_on : {false, true})
      for (int64_t k = 0;; ++k) {
        SCOPED_TRACE(std::to_string(error) + (from_then_on ? " from " : " at ") + std::to_string(k));
        MemoryStore store(4096, 512);
        FaultyStore faulty(store, failing(k, from_then_on, error));
        Serial program(faulty, "w");
        int64_t flushed = 0;
        for (int i = 0; i < 6; ++i) {
          ASSERT_NO_THROW(program.write());
          const auto refused = attempt([&] { program.writer->commit(); });
          if (refused) {
            EXPECT_EQ(refused->errno_value(), error);
          } else {
            flushed = program.done[0];
          }
          if (flushed == 0) continue;
          const auto found = stream_of(store);
          EXPECT_GE(std::ssize(found), flushed);
          expect_all(found, 0, std::min(std::ssize(found), program.done[0]));
        }
        EXPECT_FALSE(any_warnings());
        faulty.set_plan({});
        ASSERT_NO_THROW(program.writer->commit()) << "it can be repeated";
        expect_all(stream_of(store), 0, program.done[0]);
        const bool failed = faulty.failed() > 0;
        ASSERT_NO_THROW(program.writer->close());
        expect_all(stream_of(store), 0, program.done[0]);
        EXPECT_FALSE(store.status("a.journal").exists);
        if (!failed) break;
        ASSERT_LT(k, 200);
      }
}

// If the file system is full for a while, flushes must report it, and the program can repeat them.
TEST_F(JournalFailures, AFullFileSystemIsAnErrorOfTheCallWhichCanBeRepeated) {
  for (const int error : {ENOSPC, EDQUOT})
    for (int64_t k = 0;; ++k) {
      MemoryStore store(4096, 512);
      FaultyStore faulty(store, failing(k, false, error));
      Serial program(faulty, "w");
      for (int i = 0; i < 6; ++i) {
        const bool written = !attempt([&] { program.write(); }) || !attempt([&] { program.write(); });
        ASSERT_TRUE(written) << k;
        const auto full = attempt([&] { program.writer->commit(); });
        if (full) {
          EXPECT_EQ(full->errno_value(), error);
          ASSERT_NO_THROW(program.writer->commit());
        }
        const auto found = stream_of(store);
        ASSERT_EQ(std::ssize(found), program.done[0]) << k;
        expect_all(found, 0, program.done[0]);
      }
      EXPECT_FALSE(any_warnings());
      program.writer->close();
      expect_all(stream_of(store), 0, program.done[0]);
      if (faulty.failed() == 0) break;
      ASSERT_LT(k, 200);
    }
}

TEST_F(JournalFailures, GapsOfOneTaskAreFilledFromTheHolesAndThoseWhoRecordAreExact) {
  Serial program(memory, "w", 2);
  program.write(0);
  program.writer->commit();
  FaultyStore faulty(memory, failing(0, true, EACCES, StoreOperation::open));
  const auto data = memory.open("a", Access::write);
  JournalWriter without(faulty,
                        JournalKey::of(MetadataReader(*data).header(), MetadataReader(*data).extension()),
                        Journaling::best_effort);
  const layout::FileLayout places = layout::lay_out(program.sizes, chunk);
  data->write_at(content(1, 0, 1024), places.starts[1]);
  without.report(*data, {1, 0, 1024, false});
  expect_one_warning();
  EXPECT_EQ(std::ssize(stream_of(memory, 0)), piece) << "readers find what is recorded";
  EXPECT_EQ(std::ssize(stream_of(memory, 1)), 0);
  const RepairReport report = repair(memory, "a", {}, quiet);
  EXPECT_EQ(report.files.front().source, RepairSource::holes);
  expect_all(stream_of(memory, 1), 1, 1024);
  expect_all(stream_of(memory, 0), 0, piece, false);
}

// Decorator of a Store. Another host writes the journal just before a write of this host fails.
class OvertakenStore final : public ForwardingStore {
 public:
  OvertakenStore(Store& inner, std::function<void()> other)
      : ForwardingStore(inner),
        faulty_(inner, failing(0, true, EIO, StoreOperation::write)),
        other_(std::move(other)) {}
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    auto file = faulty_.open(path, access);
    if (access == Access::fresh) other_();
    return file;
  }

 private:
  FaultyStore faulty_;
  std::function<void()> other_;
};

// A failed write must not leave a journal without header: readers would not find those of the hosts.
TEST_F(JournalFailures, OneOfSeveralHostsIsNotLeftEmpty) {
  Serial program(memory, "w");
  program.write();
  program.writer->commit();
  memory.remove("a.journal");
  const auto data = memory.open("a", Access::write);
  MetadataReader metadata(*data);
  JournalKey key = JournalKey::of(metadata.header(), metadata.extension());
  key.hosts = {0, 2};
  FaultyStore faulty(memory, failing(0, false, ENOSPC, StoreOperation::write));
  EXPECT_THROW(announce_hosts(faulty, "a", key.header()), Error);
  EXPECT_FALSE(memory.status("a.journal").exists);
  memory.set_contents("a.journal", {});  // an empty journal that a killed task left
  announce_hosts(memory, "a", key.header());
  EXPECT_EQ(memory.status("a.journal").size, format::journal_header_size);
  memory.remove("a.journal");
  OvertakenStore overtaken(memory, [&] { announce_hosts(memory, "a", key.header()); });
  EXPECT_THROW(announce_hosts(overtaken, "a", key.header()), Error);
  EXPECT_EQ(memory.status("a.journal").size, format::journal_header_size) << "of another host by then";
}

TEST_F(JournalFailures, WhatIsTakenBackOfOneTaskStaysOfOthers) {
  Serial program(memory, "w", 2);
  program.write(0);
  program.writer->commit();
  const auto data = memory.open("a", Access::write);
  MetadataReader metadata(*data);
  JournalWriter journal(memory, JournalKey::of(metadata.header(), metadata.extension()),
                        Journaling::best_effort);
  journal.defer([] { return nullptr; });
  journal.report(*data, {0, 0, chunk, true});
  journal.report(*data, {0, 1, 10, false});
  journal.report(*data, {1, 0, chunk, true});
  journal.withdraw(1, 0, 1, 5);
  EXPECT_EQ(journal.waiting(), 2);
}

// After a failed write, the writer must withdraw the records of its chunks, even if it can record no more.
TEST_F(JournalFailures, WithoutItRecordsOfAFailedWriteAreTakenBackAllTheSame) {
  FaultyStore faulty(memory);
  Serial program(faulty, "w");
  program.write();
  program.writer->commit();
  faulty.set_plan(failing(2, false, EIO, StoreOperation::write));
  for (int i = 0; i < 3; ++i) program.write();  // the journal fails at the third record
  const auto before = stream_of(memory);
  faulty.set_plan(failing(1, true, ENOSPC, StoreOperation::write, ""));
  EXPECT_THROW(program.writer->stream().write(content(7, 0, 9 * chunk)), Error);
  faulty.set_plan({});
  program.write();
  const auto after = stream_of(memory);
  expect_all(after, 0, std::ssize(after));
  EXPECT_GE(std::ssize(after), std::ssize(before));
  program.writer->close();
  expect_all(stream_of(memory), 0, program.done[0]);
}

TEST_F(JournalFailures, OfAnEarlierFileIsReplacedAndAnyOtherFileStaysAsItIs) {
  const std::string foreign = "a file of somebody else, which is longer than a record";
  {
    Serial earlier(memory, "w");
    earlier.write();
    earlier.writer->commit();
    memory.remove("a");
    // The earlier program died, so its journal stays.
    Serial program(memory, "w");
    program.write();
    program.writer->commit();
    expect_all(stream_of(memory), 0, piece);
    program.writer->close();
    EXPECT_FALSE(memory.status("a.journal").exists);
  }
  const auto bytes = std::as_bytes(std::span(foreign));
  memory.set_contents("a.journal", bytes);
  Serial program(memory, "w");
  program.write();
  EXPECT_NO_THROW(program.writer->commit());
  expect_one_warning("is no journal");
  program.writer->close();
  expect_all(stream_of(memory), 0, piece);
  EXPECT_TRUE(std::ranges::equal(memory.contents("a.journal"), bytes));
  EXPECT_TRUE(repair(memory, "a", {}, quiet).was_complete());
  EXPECT_TRUE(std::ranges::equal(memory.contents("a.journal"), bytes));
}

TEST_F(JournalFailures, OfAnotherFileIsNotRemoved) {
  Serial program(memory, "w");
  program.write();
  program.writer->commit();
  const auto journal = memory.contents("a.journal");
  program.writer->close();
  {
    Serial other(memory, "w");
    other.write();
    other.writer->close();
  }
  memory.set_contents("a.journal", journal);
  remove_journal(memory, "a", MetadataReader(*memory.open("a", Access::read)).extension()->identity);
  EXPECT_TRUE(memory.status("a.journal").exists);
  remove_journal(memory, "a");
  EXPECT_FALSE(memory.status("a.journal").exists);
}

// Another program repairs the file of a live program. The next calls of the live program must fail.
TEST_F(JournalFailures, WhoseFileIsCompletedByAnotherMakesTheNextCallsFail) {
  for (const bool recorded : {true, false})
    for (const char* const words : {"w", "w,durable", "w,journal=off"}) {
      SCOPED_TRACE(words);
      MemoryStore store(4096, 512);
      Serial program(store, words);
      program.write();
      program.writer->stream().flush();
      if (recorded) program.writer->commit();
      repair(store, "a", {}, quiet);
      const auto whole = stream_of(store);
      const bool journal = mode_of(words).journal;
      if (journal) {
        EXPECT_EQ(code_of([&] { program.writer->commit(); }), Code::foreign);
        EXPECT_EQ(code_of([&] { program.write(); }), Code::foreign) << "it needs another chunk";
        EXPECT_EQ(code_of([&] { program.writer->commit(); }), Code::foreign);
      }
      EXPECT_EQ(code_of([&] { program.writer->close(); }), Code::foreign);
      EXPECT_EQ(stream_of(store), whole);
      EXPECT_FALSE(store.status("a.journal").exists);
    }
}

// A repaired file must stay readable while its writer continues after the recorded data.
TEST_F(JournalFailures, ARepairBesideALivingProgramStaysReadableWhateverThatDoes) {
  for (const int before : {0, 1, 2, 3, 4, 5})
    for (const bool flushes : {false, true})
      for (const char* const words : {"w", "w,durable"}) {
        SCOPED_TRACE(std::to_string(before) + (flushes ? " writes and a flush, " : " writes, ") + words);
        MemoryStore store(4096, 512);
        Serial program(store, words, 2);
        for (int i = 0; i < before; ++i) program.write(i % 2);
        if (flushes) program.writer->commit();
        RepairRequest beside;
        beside.may_live = true;
        repair(store, "a", beside, quiet);
        const std::vector<std::vector<std::byte>> whole{stream_of(store, 0), stream_of(store, 1)};
        for (int i = 0; i < 6; ++i) {
          attempt([&] { program.write(i % 2); });
          if (i == 3) attempt([&] { program.writer->commit(); });
          EXPECT_EQ(stream_of(store, 0), whole[0]) << i;
          EXPECT_EQ(stream_of(store, 1), whole[1]) << i;
        }
        EXPECT_EQ(code_of([&] { program.writer->close(); }), Code::foreign);
        EXPECT_EQ(stream_of(store, 0), whole[0]);
        EXPECT_EQ(stream_of(store, 1), whole[1]);
      }
}

// All journals fail. Each task must write its data nevertheless, and print one warning.
TEST_F(JournalFailures, ParallelWritersGoOnWithoutToo) {
  for (const char* const words : {"w", "w,collective,collsize=2", "w,compress=lz4,compress_threads=0"})
    for (const int nfiles : {1, 2}) {
      SCOPED_TRACE(words);
      MemoryStore store;
      for (int k = 0; k < nfiles; ++k) store.add_directory(format::physical_name("a", k) + ".journal");
      SharedHandles shared(store);
      run_fibers(fibers(4), [&](Comm& comm) {
        ParallelWriteRequest request;
        request.path = "a";
        request.nfiles = nfiles;
        request.fsblksize = 64;
        request.chunk_size = 600;
        Writer writer(shared, comm.duplicate(), std::move(request), shared_mode_of(comm, words, 300));
        for (int call = 0; call < 5; ++call) {
          const auto data = content(comm.rank(), call * 500, 500);
          EXPECT_NO_THROW(writer.collective() ? writer.write_collectively(data, std::nullopt)
                                              : writer.stream().write(data));
          EXPECT_NO_THROW(writer.commit());
        }
        EXPECT_NO_THROW(writer.close());
      });
      EXPECT_EQ(take_warnings().size(), 4u);
      for (int64_t t = 0; t < 4; ++t) EXPECT_EQ(stream_of(store, t), content(t, 0, 2500));
    }
}

}  // namespace
}  // namespace sheaf::test::journal_failures_test
