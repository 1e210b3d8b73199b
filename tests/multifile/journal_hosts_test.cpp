// Journals of tasks on several hosts. Each host must have a journal, and no host may write to pages of
// another one.
#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "base/warnings.hpp"
#include "multifile/journal/journal_file.hpp"
#include "multifile/journal/journal_reader.hpp"
#include "multifile/recover/repair.hpp"
#include "storage/decorators/forwarding_file.hpp"
#include "storage/decorators/forwarding_store.hpp"
#include "support/programs.hpp"
#include "support/stores/faulty_store.hpp"

namespace sheaf::test::journal_hosts_test {

using namespace multifile;

namespace {

constexpr int per_host = 2;
constexpr int64_t chunk = 4096;
constexpr int64_t piece = 3000;

using Names = std::vector<std::string>;

// One access of a task to an extent of a file.
struct Touch {
  std::string path;
  int task;
  int64_t low, high;
  bool writes;
};
struct TouchLog {
  std::mutex mutex;
  std::vector<Touch> all;
};

class LoggedFile final : public ForwardingFile {
 public:
  LoggedFile(std::shared_ptr<File> inner, TouchLog& log, int task)
      : ForwardingFile(std::move(inner)), log_(log), task_(task) {}
  void write_at(std::span<const std::byte> data, int64_t offset) override {
    note(offset, std::ssize(data), true);
    ForwardingFile::write_at(data, offset);
  }
  void write_pieces(std::span<const Piece<const std::byte>> pieces) override {
    for (const auto& [offset, bytes] : pieces) note(offset, std::ssize(bytes), true);
    inner().write_pieces(pieces);
  }
  size_t read_at(std::span<std::byte> data, int64_t offset) override {
    const size_t got = ForwardingFile::read_at(data, offset);
    note(offset, static_cast<int64_t>(got), false);
    return got;
  }

 private:
  void note(int64_t offset, int64_t bytes, bool writes) {
    const std::lock_guard lock(log_.mutex);
    if (bytes > 0) log_.all.push_back({path(), task_, offset, offset + bytes, writes});
  }
  TouchLog& log_;
  const int task_;
};

class LoggedStore final : public ForwardingStore {
 public:
  LoggedStore(Store& inner, TouchLog& log, int task) : ForwardingStore(inner), log_(log), task_(task) {}
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    return std::make_shared<LoggedFile>(ForwardingStore::open(path, access), log_, task_);
  }

 private:
  TouchLog& log_;
  const int task_;
};

// Every task writes `pieces` pieces and flushes after each.
void write_on_hosts(Store& store, int ntasks, int pieces, const std::string& words, bool close,
                    TouchLog* log = nullptr) {
  FiberOptions options = fibers(ntasks, 1);
  options.ranks_per_node = per_host;
  run_fibers(options, [&](Comm& comm) {
    TouchLog unused;
    LoggedStore own(store, log ? *log : unused, comm.rank());
    ParallelWriteRequest request;
    request.path = "a";
    request.chunk_size = chunk;
    request.fsblksize = static_cast<int32_t>(chunk);
    Writer writer(own, comm.duplicate(), std::move(request), shared_mode_of(comm, words, 1000));
    for (int i = 0; i < pieces; ++i) {
      writer.stream().write(content(comm.rank(), i * piece, piece));
      writer.commit();
    }
    if (close) writer.close();
  });
}

void expect_streams(Store& store, int ntasks, int64_t bytes, bool exact = true) {
  for (int t = 0; t < ntasks; ++t) {
    Reader reader(store, "a", mode_of("r"));
    reader.select(t);
    std::vector<std::byte> found(static_cast<size_t>(bytes) + 1);
    found.resize(reader.stream().read(found));
    if (!exact && std::ssize(found) > bytes) found.resize(static_cast<size_t>(bytes));  // trailing zeros
    EXPECT_EQ(found, content(t, 0, bytes)) << "task " << t;
  }
}

TEST(JournalHosts, EachHasItsOwnAndReadersFindThemAll) {
  for (const std::string words : {"w", "w,durable"}) {
    MemoryStore store(4096, 512);
    write_on_hosts(store, 5, 3, words, false);
    EXPECT_EQ(store.paths(), (Names{"a", "a.journal", "a.journal.0", "a.journal.1", "a.journal.2"}));
    expect_streams(store, 5, 3 * piece);
    WorkProgress quiet;
    EXPECT_EQ(repair(store, "a", {}, quiet).files.front().source, RepairSource::journal);
    EXPECT_EQ(store.paths(), Names{"a"});
    expect_streams(store, 5, 3 * piece);
  }
}

TEST(JournalHosts, OfOneIsTheJournalOfVersionOne) {
  MemoryStore store(4096, 512);
  write_on_hosts(store, per_host, 2, "w", false);
  EXPECT_EQ(store.paths(), (Names{"a", "a.journal"}));
  expect_streams(store, per_host, 2 * piece);
}

TEST(JournalHosts, AreGoneAfterTheClose) {
  MemoryStore store(4096, 512);
  write_on_hosts(store, 6, 3, "w", true);
  EXPECT_EQ(store.paths(), Names{"a"});
  expect_streams(store, 6, 3 * piece);
}

// A program that died left journals for more hosts than the next program has. In one case, the file itself
// was removed.
TEST(JournalHosts, OfAnEarlierFileAreNotTakenForTheOwn) {
  MemoryStore store(4096, 512);
  write_on_hosts(store, 8, 4, "w", false);
  for (const bool removed : {true, false}) {
    if (removed) store.remove("a");
    write_on_hosts(store, 4, 2, "w", false);
    expect_streams(store, 4, 2 * piece);
    EXPECT_EQ(store.paths(), (Names{"a", "a.journal", "a.journal.0", "a.journal.1"}));
  }
}

// In the file and its journals, no task may read a byte that another host has written, and each page must
// have writers on one host only.
TEST(JournalHosts, NobodyReadsOrSharesWhatAnotherHostWrites) {
  for (const std::string words : {"w", "w,durable"}) {
    MemoryStore store(4096, 512);
    TouchLog log;
    write_on_hosts(store, 6, 3, words, true, &log);
    std::map<std::pair<std::string, int64_t>, std::set<int>> writers;  // hosts, by page
    for (const Touch& a : log.all)
      for (int64_t page = a.low / 4096; a.writes && page <= (a.high - 1) / 4096; ++page)
        writers[{a.path, page}].insert(a.task / per_host);
    for (const auto& [where, hosts] : writers)
      EXPECT_EQ(hosts.size(), 1u) << where.first << ", page " << where.second;
    for (const Touch& a : log.all) {
      if (a.path.starts_with("a.journal") && a.low == 0) continue;  // a check of the owner before the removal
      for (const Touch& b : log.all)
        if (!a.writes && b.writes && a.path == b.path && a.low < b.high && b.low < a.high) {
          EXPECT_EQ(a.task / per_host, b.task / per_host) << a.path << " at " << a.low;
        }
    }
  }
}

// Tasks without a journal cannot mark the file. They must create a name that records that there may be more
// data.
TEST(JournalHosts, ATaskThatGoesOnWithoutLeavesANote) {
  take_warnings();
  MemoryStore store(4096, 512);
  store.add_directory("a.journal.1");
  write_on_hosts(store, 4, 3, "w", false);
  EXPECT_EQ(take_warnings().size(), 2u);
  EXPECT_TRUE(store.status("a.journal.gap").exists);
  EXPECT_TRUE(store.status("a.journal.0").exists);
  WorkProgress quiet;
  const auto report = repair(store, "a", {}, quiet);
  ASSERT_FALSE(report.files.front().unknown.empty());
  EXPECT_FALSE(store.status("a.journal.gap").exists);
  expect_streams(store, 2, 3 * piece, false);
  expect_streams(store, 4, piece, false);  // in the first chunk, holes cannot show where data ends
}

// If the journal of an earlier file could not be removed, no host may continue it.
TEST(JournalHosts, OfAnEarlierFileThatStaysIsNotTakenForTheOwn) {
  take_warnings();
  MemoryStore store(4096, 512);
  write_on_hosts(store, 4, 2, "w", false);
  store.remove("a");
  FaultPlan plan;
  plan.fail_at = 0;
  plan.from_then_on = true;
  plan.errno_value = EACCES;
  plan.kind = StoreOperation::remove;
  FaultyStore faulty(store, plan);
  write_on_hosts(faulty, 4, 2, "w", false);
  const auto told = take_warnings();
  ASSERT_FALSE(told.empty());
  EXPECT_NE(told[0].find("journal of another file"), std::string::npos) << told[0];
  EXPECT_EQ(code_of([&] { expect_streams(store, 4, 2 * piece); }), Code::unclosed);
}

TEST(JournalHosts, ForeignFilesAreLeftAlone) {
  take_warnings();
  MemoryStore store(4096, 512);
  const auto text = content(7, 0, 100);
  store.set_contents("a.journal", text);
  write_on_hosts(store, 4, 2, "w", true);
  EXPECT_EQ(take_warnings().size(), 4u);
  EXPECT_TRUE(std::ranges::equal(store.contents("a.journal"), text));
  EXPECT_EQ(store.paths(), (Names{"a", "a.journal"}));
  expect_streams(store, 4, 2 * piece);
}

TEST(JournalHosts, HeaderOfSeveralIsRefusedByVersionOneAndKeepsItsFields) {
  format::JournalHeader h;
  h.ntasks = 7;
  h.hosts = 3;
  h.host = 2;
  auto bytes = format::encode(h);
  EXPECT_EQ(format::decode_journal_header(bytes, "a"), h);
  EXPECT_EQ(static_cast<int>(bytes[8]), 2);
  bytes[68] ^= std::byte{1};
  EXPECT_EQ(format::decode_journal_header(bytes, "a"), std::nullopt);
}

}  // namespace
}  // namespace sheaf::test::journal_hosts_test
