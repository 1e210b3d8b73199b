// Number of requests of a multifile for metadata, and for data in large calls. Each request is a message to a
// server.
#include <gtest/gtest.h>

#include "support/counting_store.hpp"
#include "support/hosts_store.hpp"
#include "support/programs.hpp"
#include "support/stores/recording_store.hpp"

namespace sheaf::test::requests_test {
namespace {

std::string changes_of(const RecordingStore& recorded) {
  std::string all;
  for (size_t change = 0; change < recorded.length(); ++change) all += recorded.describe(change) + "\n";
  return all;
}

// Writes with four tasks, in one shared file or in one file for each task.
void write(Store& store, int32_t nfiles, const std::string& words, bool flushes = false) {
  run_fibers(fibers(4, 1), [&](Comm& comm) {
    multifile::ParallelWriteRequest request;
    request.path = "a";
    request.chunk_size = 4096;
    request.fsblksize = 4096;
    request.nfiles = nfiles;
    multifile::Writer writer(store, comm.duplicate(), std::move(request), shared_mode_of(comm, words));
    writer.stream().write(content(comm.rank(), 0, 3000));
    if (flushes) writer.commit();
    writer.close();
  });
}

TEST(Requests, AFileIsMadeWithMeta1AndMeta2AndAPointer) {
  for (const std::string words : {"w", "w,journal=off", "w,checksums=off,journal=off"}) {
    MemoryStore memory;
    RecordingStore recorded(memory);
    write(recorded, 1, words);
    // One request for the data of each task.
    EXPECT_EQ(recorded.length(), 1u + 1 + 4 + 1 + 1) << words << "\n" << changes_of(recorded);
  }
  MemoryStore memory;
  RecordingStore recorded(memory);
  write(recorded, 4, "w");
  EXPECT_EQ(recorded.length(), 4u * 5) << changes_of(recorded);
}

// Counts opens of journals.
class LookupCountingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    if (path.ends_with(".journal")) ++journals;
    return ForwardingStore::open(path, access);
  }
  int journals = 0;
};

TEST(Requests, NobodyLooksForAJournalThatNobodyHasBegun) {
  MemoryStore memory;
  LookupCountingStore looks(memory);
  write(looks, 4, "w");
  EXPECT_EQ(looks.journals, 0);
  write(looks, 2, "w", true);  // overwrites the files, with a journal
  EXPECT_GT(looks.journals, 0);
  for (const std::string& path : memory.paths()) EXPECT_EQ(path.find("journal"), std::string::npos) << path;
}

// Counts requests of at least, and of less than, 32 KiB.
class SizeCountingStore final : public ObservedStore {
 public:
  struct Requests {
    int large = 0;
    int small = 0;
  };

  using ObservedStore::ObservedStore;
  Requests reads, writes;

 private:
  void observe(ObservedKind kind, int64_t bytes, const std::function<void()>& transfer) override {
    Requests& requests = kind == ObservedKind::read ? reads : writes;
    ++(bytes >= 32 << 10 ? requests.large : requests.small);
    transfer();
  }
};

constexpr int64_t mib = 1 << 20;

TEST(Requests, ALargeCallIsOneWriteAndItsPiecesAreReadWithoutSmallRequests) {
  constexpr int64_t total = 16 * mib;
  const std::vector<int64_t> chunks{total}, ranks{0};
  for (const int64_t call : {mib, mib / 16}) {
    MemoryStore memory;
    SizeCountingStore counted(memory);
    {
      multifile::Writer writer(counted, {"a", chunks, ranks, 4096}, mode_of("w"));
      const auto before = counted.writes;
      for (int64_t done = 0; done < total; done += call) writer.stream().write(content(0, done, call));
      EXPECT_EQ(counted.writes.large - before.large, total / call);
      EXPECT_EQ(counted.writes.small, before.small);
      writer.close();
    }
    multifile::Reader reader(counted, "a", 0, mode_of("r"));
    const auto before = counted.reads;
    std::vector<std::byte> found(static_cast<size_t>(call));
    for (int64_t done = 0; done < total; done += call) {
      EXPECT_EQ(reader.stream().read(found), found.size());
      EXPECT_EQ(found, content(0, done, call));
    }
    EXPECT_EQ(counted.reads.large - before.large, total / std::min<int64_t>(call, 128 << 10));
    // Checksums of 4 MiB at a time, and the identity of the file whenever checksums are read.
    EXPECT_EQ(counted.reads.small - before.small, 2 * total / (4 * mib));
  }
}

}  // namespace
}  // namespace sheaf::test::requests_test
