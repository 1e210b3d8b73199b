// Number of metadata requests of a multifile. Each request is a message to a server.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace sheaf::test::requests_test
