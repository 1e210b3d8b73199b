// Repairs without a journal, readers of files that are being written, and repairs of files whose writer was
// killed near the end of its close.
#include "multifile/recover/repair.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "multifile/create/commit.hpp"
#include "multifile/recover/leftovers.hpp"
#include "storage/decorators/forwarding_file.hpp"
#include "storage/decorators/forwarding_store.hpp"
#include "support/crash_points.hpp"
#include "support/stores/faulty_store.hpp"

namespace sheaf::test::repair_test {

using namespace multifile;

namespace {

WorkProgress quiet;

void remove_pointer(Store& store, const std::string& path, int64_t ntasks) {
  store.open(path, Access::write)->write_at(std::array<std::byte, 12>{}, 1076 + 16 * ntasks);
}

Program three_tasks(int nfiles) {
  Program p;
  p.fsblksize = 4096;
  p.nfiles = nfiles;
  p.requests = {4096, 8192, 4096};
  p.steps = {{{Step::write, 3000}, {Step::write, 4096}}, {{Step::write, 8192}, {Step::write, 1}}, {}};
  return p;
}

// For a plain file, a repair must keep whole blocks of the file system, up to the last block with data.
TEST(Repair, WithoutAJournalGoesByTheHoles) {
  for (const int nfiles : {1, 3}) {
    MemoryStore store(4096, 4096);
    const Program p = three_tasks(nfiles);
    write_in_parallel(store, "a", p, 0, "w,journal=off");
    for (int32_t k = 0; k < nfiles; ++k) {
      const std::string name = format::physical_name("a", k);
      const PhysicalFile f = load_physical_file(store, name);
      store.open(name, Access::write)->resize(f.pointer.varheader);
      remove_pointer(store, name, f.header.ntasks);
    }
    EXPECT_EQ(code_of([&] { Reader(store, "a", mode_of("r")); }), Code::unclosed);
    RepairRequest dry;
    dry.dry_run = true;
    const auto before = store.contents("a");
    EXPECT_EQ(repair(store, "a", dry, quiet).files.front().source, RepairSource::holes);
    EXPECT_EQ(store.contents("a"), before);
    const RepairReport report = repair(store, "a", {}, quiet);
    EXPECT_FALSE(report.files.front().unknown.empty());
    for (int64_t t = 0; t < 3; ++t) {
      const auto found = stream_of(store, "a", t);
      const int64_t lengths[] = {8192, 12288, 0};
      ASSERT_EQ(std::ssize(found), lengths[t]) << t;
      const auto expect_at = [&](int64_t at, int64_t from, int64_t count) {
        const auto piece = content(t, from, count);
        EXPECT_TRUE(std::equal(piece.begin(), piece.end(), found.begin() + at)) << t;
      };
      if (t == 0) expect_at(0, 0, 3000), expect_at(4096, 3000, 4096);
      if (t == 1) expect_at(0, 0, 8193);
    }
    EXPECT_TRUE(repair(store, "a", {}, quiet).was_complete());
  }
}

TEST(Repair, FindsATableWithoutThePointerToIt) {
  for (const char* words : {"w", "w,journal=off"})
    for (const int nfiles : {1, 2}) {
      MemoryStore store;
      const Program p = three_tasks(nfiles);
      write_in_parallel(store, "a", p, 0, words);
      const auto whole = store.contents("a");
      remove_pointer(store, "a", load_physical_file(store, "a").header.ntasks);
      EXPECT_EQ(repair(store, "a", {}, quiet).files.front().source, RepairSource::table);
      EXPECT_EQ(store.contents("a"), whole);
      check_every_way(store, "a", p);
    }
}

// Leaves a file unclosed as `writer` writes it, after a flush if `flush` is true.
void leave_unclosed(MemoryStore& store, const std::string& words, bool flush) {
  MemoryStore memory(4096, 512);
  RecordingStore tape(memory);
  const std::vector<int64_t> sizes{4096, 4096};
  const std::vector<int64_t> ranks{0, 1};
  Writer writer(tape, {"a", sizes, ranks, 4096}, mode_of(words, 0));
  for (int64_t t = 0; t < 2; ++t) {
    writer.select(t);
    writer.stream().write(content(t, 0, 1000));
    if (flush) writer.commit();
  }
  tape.replay(tape.length(), store);
}

// Decorator of a Store. Until a sync, this host uses the old sizes of files that others write.
class LateEnds : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    auto file = inner().open(path, access);
    return access == Access::read ? file : std::make_shared<Late>(std::move(file));
  }

 private:
  class Late : public ForwardingFile {
   public:
    explicit Late(std::shared_ptr<File> file) : ForwardingFile(std::move(file)) {
      end_ = inner().status().size;
    }
    size_t read_at(std::span<std::byte> data, int64_t offset) override {
      const auto there = static_cast<size_t>(std::clamp<int64_t>(end_ - offset, 0, std::ssize(data)));
      return inner().read_at(data.first(there), offset);
    }
    FileStatus status() override {
      FileStatus status = inner().status();
      status.size = end_;
      return status;
    }
    void sync() override {
      inner().sync();
      end_ = inner().status().size;
    }

   private:
    int64_t end_ = 0;
  };
};

TEST(Repair, ReadsBackWhatItHasSyncedOnly) {
  for (const bool table : {false, true})
    for (const int nfiles : {1, 2}) {
      MemoryStore store;
      const Program p = three_tasks(nfiles);
      write_in_parallel(store, "a", p, 0, "w");
      for (int32_t k = 0; k < nfiles; ++k) {
        const std::string name = format::physical_name("a", k);
        const PhysicalFile f = load_physical_file(store, name);
        remove_pointer(store, name, f.header.ntasks);
        if (!table) store.open(name, Access::write)->resize(f.pointer.varheader);
      }
      LateEnds late(store);
      ASSERT_NO_THROW(repair(late, "a", {}, quiet)) << table << " " << nfiles;
      EXPECT_TRUE(repair(store, "a", {}, quiet).was_complete());
    }
}

// If the journal is lost, readers must report an error, because they cannot know the flushed data.
TEST(Repair, ALostJournalIsAnErrorAndNoReasonToThrowDataAway) {
  for (const char* const words : {"w", "w,durable"})
    for (const bool emptied : {false, true}) {
      MemoryStore store(4096, 512);
      leave_unclosed(store, words, true);
      EXPECT_EQ(stream_of(store, "a", 1), content(1, 0, 1000));
      if (emptied) {
        store.open("a.journal", Access::write)->resize(0);
      } else {
        store.remove("a.journal");
      }
      const auto problem = attempt([&] { Reader(store, "a", mode_of("r")); });
      ASSERT_TRUE(problem);
      EXPECT_EQ(problem->code(), Code::unclosed);
      EXPECT_NE(std::string(problem->what()).find("its journal 'a.journal' is"), std::string::npos)
          << problem->what();
      const RepairReport report = repair(store, "a", {}, quiet);
      EXPECT_EQ(report.files.front().source, RepairSource::holes);
      EXPECT_TRUE(std::ranges::any_of(report.files.front().unknown,
                                      [](const std::string& s) { return s.find("a.journal") != s.npos; }));
      for (int64_t t = 0; t < 2; ++t) {
        auto found = stream_of(store, "a", t);
        ASSERT_GE(std::ssize(found), 1000);
        ASSERT_LE(std::ssize(found), 1024) << "up to the end of the page";
        found.resize(1000);
        EXPECT_EQ(found, content(t, 0, 1000));
      }
    }
}

TEST(Repair, WhatNobodyHadFlushedIsEmptyForReadersButNotThrownAway) {
  MemoryStore store(4096, 512);
  leave_unclosed(store, "w", false);
  EXPECT_FALSE(store.status("a.journal").exists);
  EXPECT_EQ(stream_of(store, "a", 1), content(1, 0, 0));
  EXPECT_EQ(repair(store, "a", {}, quiet).files.front().source, RepairSource::holes);
  for (int64_t t = 0; t < 2; ++t) EXPECT_EQ(stream_of(store, "a", t), content(t, 0, 1000));
}

// A write of one task turns the page of idle tasks into data. A repair must give these tasks no bytes.
TEST(Repair, GivesNoZerosOfAPageThatOnlyANeighbourHasWritten) {
  MemoryStore memory(512, 4096), store(512, 4096);
  RecordingStore tape(memory);
  const std::vector<int64_t> sizes(3, 512 * 10), ranks{0, 1, 2};
  Writer writer(tape, {"a", sizes, ranks, 512}, mode_of("w", 0));
  writer.select(1);
  writer.stream().write(content(1, 0, 1000));
  tape.replay(tape.length(), store);
  EXPECT_EQ(repair(store, "a", {}, quiet).files.front().source, RepairSource::holes);
  for (int64_t t = 0; t < 3; ++t)
    EXPECT_EQ(stream_of(store, "a", t), content(t, 0, t == 1 ? 1000 : 0)) << "task " << t;
}

// The program is killed after it wrote two chunks and before it recorded any (collectors use this order). A
// repair must not return the zeros that follow the 400 bytes of the first chunk.
TEST(Repair, GivesNoZerosBetweenChunksThatNobodyHasReported) {
  MemoryStore memory(512, 4096), store(512, 4096);
  RecordingStore tape(memory);
  const std::vector<int64_t> sizes{512}, ranks{0};
  Writer writer(tape, {"a", sizes, ranks, 512}, mode_of("w", 0));
  writer.stream().write(content(0, 0, 400));
  tape.replay(tape.length(), store);
  const int64_t second = layout::data_start(1, 512) + 512;
  store.open("a", Access::write)->write_at(content(0, 400, 300), second);
  EXPECT_EQ(repair(store, "a", {}, quiet).files.front().source, RepairSource::holes);
  EXPECT_EQ(stream_of(store, "a", 0), content(0, 0, 400));
}

TEST(Repair, RefusesWhatIsNoMultifileAndHarmsNothing) {
  MemoryStore store;
  const std::vector<std::byte> text(5000, std::byte{'x'});
  store.set_contents("a", text);
  EXPECT_EQ(code_of([&] { repair(store, "a", {}, quiet); }), Code::not_a_multifile);
  EXPECT_EQ(store.contents("a"), text);
  EXPECT_EQ(code_of([&] { repair(store, "b", {}, quiet); }), Code::not_found);
}

// Every operation of a repair fails in turn. Recorded data must survive, and the next repair must succeed.
TEST(Repair, SurvivesFailures) {
  const Program p = crash_program(7, 2);
  for (int64_t k = 0;; ++k) {
    MemoryStore memory, state;
    RecordingStore tape(memory);
    Reported reported(p.ntasks());
    record_in_parallel(tape, p, reported, "w", 7);
    tape.replay(reported.closing, state);
    FaultPlan plan;
    plan.fail_at = k;
    plan.errno_value = ENOSPC;
    plan.half_first = true;
    FaultyStore faulty(state, plan);
    attempt([&] { repair(faulty, "a", {}, quiet); });
    const auto lengths = check_recovered(state, p, reported, reported.closing + 1);
    repair(state, "a", {}, quiet);
    for (int64_t t = 0; t < p.ntasks(); ++t)
      ASSERT_EQ(stream_of(state, "a", t), content(t, 0, lengths[static_cast<size_t>(t)]))
          << "operation " << k;
    if (faulty.failed() == 0) break;
    ASSERT_LT(k, 1000);
  }
}

// Readers of real files must see a prefix of the data while a writer is active.
TEST(Journal, AReaderSeesABeginningWhileTheFileIsWritten) {
  const auto directory =
      std::filesystem::temp_directory_path() / ("sheaf-live-" + std::to_string(::getpid()));
  std::filesystem::create_directories(directory);
  const std::string path = directory / "a";
  const std::vector<int64_t> sizes{3000, 512};
  const std::vector<int64_t> ranks{0, 1};
  Writer writer(posix_store(), {path, sizes, ranks, 512}, mode_of("w", 700));
  std::atomic<int64_t> flushed[2] = {0, 0};
  std::atomic<bool> done = false;
  std::string wrong;
  std::thread reader([&] {
    while (!done && wrong.empty()) {
      const int64_t least[2] = {flushed[0], flushed[1]};
      Reader all(posix_store(), path, mode_of("r"));
      if (!all.facts().unclosed) wrong = "not called unclosed";
      for (int64_t t = 0; t < 2; ++t) {
        all.select(t);
        std::vector<std::byte> bytes(8 << 20);
        bytes.resize(all.stream().read(bytes));
        if (std::ssize(bytes) < least[t]) wrong = "bytes are missing";
        if (bytes != content(t, 0, std::ssize(bytes))) wrong = "wrong bytes";
      }
    }
  });
  Random random(5);
  int64_t written[2] = {0, 0};
  for (int step = 0; step < 400; ++step) {
    const int64_t t = random.below(2);
    writer.select(t);
    const int64_t bytes = random.below(1500);
    writer.stream().write(content(t, written[t], bytes));
    written[t] += bytes;
    if (!random.chance(3)) continue;
    writer.commit();
    for (int i = 0; i < 2; ++i) flushed[i] = written[i];
  }
  done = true;
  reader.join();
  EXPECT_EQ(wrong, "");
  writer.close();
  EXPECT_FALSE(std::filesystem::exists(path + ".journal"));
  EXPECT_EQ(stream_of(posix_store(), path, 0), content(0, 0, written[0]));
  std::filesystem::remove_all(directory);
}

// A program that writes one chunk and closes must create no journal.
TEST(Journal, IsNotMadeByAProgramThatWritesOneChunkAndCloses) {
  MemoryStore memory;
  RecordingStore tape(memory);
  Program p = three_tasks(1);
  p.steps = {{{Step::write, 100}}, {{Step::write, 4096}}, {}};
  write_in_parallel(tape, "a", p);
  for (size_t i = 0; i < tape.length(); ++i)
    EXPECT_EQ(tape.describe(i).find("journal"), std::string::npos) << tape.describe(i);
}

TEST(Journal, OfAnotherFileOfTheSameNameDoesNotCount) {
  MemoryStore store;
  const std::vector<int64_t> sizes{512};
  const std::vector<int64_t> ranks{0};
  {
    Writer old(store, {"a", sizes, ranks, 512}, mode_of("w"));
    old.stream().write(content(0, 0, 300));
    old.commit();
  }
  const auto journal = store.contents("a.journal");
  Writer young(store, {"a", sizes, ranks, 512}, mode_of("w"));
  store.set_contents("a.journal", journal);  // simulates a failed removal
  EXPECT_EQ(stream_of(store, "a", 0).size(), 0u);
  young.stream().write(content(0, 0, 20));
  young.commit();
  EXPECT_EQ(stream_of(store, "a", 0), content(0, 0, 20));
}

// Readers must not find bytes of a failed write, even if the write had recorded completed chunks.
TEST(Journal, TakesBackWhatAFailedWriteHadReported) {
  for (int64_t k = 0; k < 40; ++k) {
    MemoryStore memory;
    FaultyStore faulty(memory);
    const std::vector<int64_t> sizes{512};
    const std::vector<int64_t> ranks{0};
    Writer writer(faulty, {"a", sizes, ranks, 512}, mode_of("w", 100));
    writer.stream().write(content(0, 0, 200));
    writer.commit();
    FaultPlan plan;
    plan.fail_at = k;
    plan.half_first = true;
    faulty.set_plan(plan);
    const auto failed = attempt([&] { writer.stream().write(content(0, 1000, 3000)); });
    faulty.set_plan({});
    if (!failed) break;
    writer.stream().write(content(0, 200, 900));
    writer.commit();
    ASSERT_EQ(stream_of(memory, "a", 0), content(0, 0, 1100)) << "operation " << k;
    writer.close();
    ASSERT_EQ(stream_of(memory, "a", 0), content(0, 0, 1100)) << "operation " << k;
  }
}

// After a failed sync, the state of the disk is unknown. The close must report the failure.
TEST(Durable, AFailedFlushIsToldAtTheClose) {
  MemoryStore memory;
  FaultyStore faulty(memory);
  const std::vector<int64_t> sizes{512};
  const std::vector<int64_t> ranks{0};
  Writer writer(faulty, {"a", sizes, ranks, 512}, mode_of("w,durable"));
  writer.stream().write(content(0, 0, 200));
  FaultPlan plan;
  plan.fail_at = 0;
  plan.kind = StoreOperation::sync;
  faulty.set_plan(plan);
  EXPECT_EQ(code_of([&] { writer.commit(); }), Code::io);
  EXPECT_EQ(code_of([&] { writer.commit(); }), Code::io)
      << "what was to be kept may be lost, whatever succeeds later";
  EXPECT_EQ(code_of([&] { writer.close(); }), Code::io);
}

TEST(Atomic, NamesAreFoundAndFinished) {
  MemoryStore store;
  const Program p = three_tasks(2);
  const std::string temporary = new_temporary_name(store, "x/a");
  write_in_parallel(store, temporary, p);
  const std::string unclosed = new_temporary_name(store, "x/b");
  write_in_parallel(store, unclosed, p, 0, "w,journal=off");
  store.open(unclosed, Access::write)->resize(1076 + 16);
  std::vector<std::string> names;
  for (const std::string& path : store.paths()) names.push_back(path.substr(2));
  const auto found = find_leftovers(store, "x", names);
  ASSERT_EQ(found.size(), 2u);
  for (const Leftover& l : found) {
    EXPECT_EQ(l.files.size(), 2u);
    if (l.path == "x/a") {
      EXPECT_EQ(l.state, LeftoverState::complete);
      finish_leftover(store, l);
    } else {
      EXPECT_EQ(l.state, LeftoverState::unclosed);
      EXPECT_EQ(code_of([&] { finish_leftover(store, l); }), Code::unclosed);
      remove_leftover(store, l);
    }
  }
  EXPECT_EQ(store.paths(), (std::vector<std::string>{"x/a", "x/a.000001"}));
  check_every_way(store, "x/a", p);
}

}  // namespace
}  // namespace sheaf::test::repair_test
