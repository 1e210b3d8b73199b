// Number of opens and read requests of an open for reading: one request for all metadata of a small
// multifile, two for those of a large one.
#include <gtest/gtest.h>

#include "support/programs.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::test::open_requests_test {
namespace {

constexpr int64_t at_once = 64 << 10;
constexpr int tasks = 4;

// Lists the opens of files and the reads from them. With `hides_size`, files do not know their size from the
// open, as in stores other than POSIX.
class ReadListingStore final : public ForwardingStore {
 public:
  struct ReadList {
    int opens = 0;
    std::vector<int64_t> sizes;  // requested bytes of each read
    std::string lines;

    // Returns the reads of a header alone, which check the identity of a file.
    int64_t checks() const { return std::ranges::count(sizes, format::fixed_size); }
    int64_t metadata() const { return std::ssize(sizes) - checks(); }
  };

  ReadListingStore(Store& inner, bool hides_size) : ForwardingStore(inner), hides_size_(hides_size) {}
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    auto file = std::make_shared<ListedFile>(ForwardingStore::open(path, access), *this);
    ++list.opens;
    list.lines += "open " + path + "\n";
    return file;
  }

  ReadList list;

 private:
  class ListedFile final : public ForwardingFile {
   public:
    ListedFile(std::shared_ptr<File> file, ReadListingStore& store)
        : ForwardingFile(std::move(file)), store_(store), size_(inner().status().size) {}
    size_t read_at(std::span<std::byte> data, int64_t offset) override {
      store_.list.sizes.push_back(std::ssize(data));
      store_.list.lines +=
          path() + ": " + std::to_string(data.size()) + " bytes at " + std::to_string(offset) + "\n";
      return inner().read_at(data, offset);
    }
    FileTraits traits() override { return {.opened_size = store_.hides_size_ ? -1 : size_}; }

   private:
    ReadListingStore& store_;
    const int64_t size_;
  };

  const bool hides_size_;
};

Program program(int nfiles, int64_t bytes) {
  Program p;
  p.nfiles = nfiles;
  p.fsblksize = 512;
  for (int t = 0; t < tasks; ++t) {
    p.requests.push_back(bytes);
    p.steps.push_back({{Step::write, bytes}});
  }
  return p;
}

// A multifile in memory, and what its opens read.
class CountedMultifile {
 public:
  CountedMultifile(int nfiles, int64_t bytes, const std::string& words = "w", bool hides_size = false)
      : hides_size_(hides_size) {
    write_in_parallel(memory_, "a", program(nfiles, bytes), 0, words);
  }

  ReadListingStore::ReadList by_one_task(int64_t task) {
    ReadListingStore store(memory_, hides_size_);
    const multifile::Reader reader(store, "a", task, mode_of("r"));
    return store.list;
  }
  ReadListingStore::ReadList by_one_process() {
    ReadListingStore store(memory_, hides_size_);
    const multifile::Reader reader(store, "a", mode_of("r"));
    return store.list;
  }
  ReadListingStore::ReadList by_group(const std::string& words) {
    ReadListingStore store(memory_, hides_size_);
    ReadListingStore::ReadList found;
    run_fibers(fibers(tasks), [&](Comm& comm) {
      multifile::Reader reader(store, comm.duplicate(), "a", mode_of(words));
      if (comm.rank() == 0) found = store.list;
      reader.close();
    });
    return found;
  }
  ReadListingStore::ReadList mapped(int processes) {
    ReadListingStore store(memory_, hides_size_);
    ReadListingStore::ReadList found;
    run_fibers(fibers(processes), [&](Comm& comm) {
      multifile::Reader reader(store, comm.duplicate(), multifile::MappedReadRequest{"a", true},
                               mode_of("r"));
      if (comm.rank() == 0) found = store.list;
      reader.close();
    });
    return found;
  }

 private:
  MemoryStore memory_;
  const bool hides_size_;
};

void expect(const ReadListingStore::ReadList& found, int opens, int64_t metadata, int64_t checks) {
  EXPECT_EQ(found.opens, opens) << found.lines;
  EXPECT_EQ(found.metadata(), metadata) << found.lines;
  EXPECT_EQ(found.checks(), checks) << found.lines;
  for (const int64_t size : found.sizes) EXPECT_LE(size, at_once) << found.lines;
}

TEST(OpenRequests, OneForTheMetadataOfASmallFile) {
  for (const bool hides_size : {false, true}) {
    CountedMultifile file(1, 1000, "w", hides_size);
    for (int64_t task = 0; task < tasks; ++task) expect(file.by_one_task(task), 1, 1, 0);
    expect(file.by_one_process(), 1, 1, 0);
    // Each task that reads no metadata checks the identity of its file.
    expect(file.by_group("r"), tasks, 1, tasks - 1);
    expect(file.mapped(1), 1, 1, 0);
    expect(file.mapped(2), 2, 2,
           0);  // one process reads the rows, the other one counts the tasks of the file
  }
}

TEST(OpenRequests, TwoForTheMetadataOfALargeFile) {
  for (const bool hides_size : {false, true}) {
    CountedMultifile file(1, 1 << 20, "w", hides_size);
    for (int64_t task = 0; task < tasks; ++task) expect(file.by_one_task(task), 1, 2, 0);
    expect(file.by_one_process(), 1, 2, 0);
    expect(file.by_group("r"), tasks, 2, tasks - 1);
    expect(file.mapped(1), 1, 2, 0);
  }
}

TEST(OpenRequests, OneForEachFileOfASet) {
  CountedMultifile two(2, 1000), four(tasks, 1000);
  expect(two.by_one_process(), 2, 2, 0);
  expect(two.by_one_task(0), 1, 1, 0);
  expect(two.by_one_task(3), 2, 2, 0);
  expect(two.by_group("r"), tasks, 2, 2);
  expect(two.mapped(1), 2, 2, 0);
  expect(two.mapped(2), 3, 3, 0);  // one process reads all rows, the other one counts the tasks of its file
  expect(four.by_group("r"), tasks, tasks, 0);
}

// Without checksums, the tables are read after the pointer to them.
TEST(OpenRequests, TwoForAFileWithoutChecksums) {
  CountedMultifile file(1, 1000, "w,checksums=off");
  expect(file.by_one_task(2), 1, 2, 0);
  expect(file.by_one_process(), 1, 2, 0);
}

// Returns a file as it was before its close for the first request that includes the block table, as a file
// system may that splits requests.
class TornStore final : public ForwardingStore {
 public:
  TornStore(Store& inner, int64_t table) : ForwardingStore(inner), table_(table) {}
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    return std::make_shared<TornFile>(ForwardingStore::open(path, access), *this);
  }
  int torn = 0;

 private:
  class TornFile final : public ForwardingFile {
   public:
    TornFile(std::shared_ptr<File> file, TornStore& store) : ForwardingFile(std::move(file)), store_(store) {}
    size_t read_at(std::span<std::byte> data, int64_t offset) override {
      const size_t got = inner().read_at(data, offset);
      const int64_t from = store_.table_ - offset;
      if (offset == 0 && from < static_cast<int64_t>(got) && store_.torn++ == 0)
        std::ranges::fill(data.subspan(static_cast<size_t>(from)), std::byte{0});
      return got;
    }

   private:
    TornStore& store_;
  };

  const int64_t table_;
};

TEST(OpenRequests, AFileThatIsClosedDuringTheRequestIsReadAgain) {
  for (const std::string words : {"w", "w,checksums=off"}) {
    MemoryStore memory;
    write_in_parallel(memory, "a", program(1, 1000), 0, words);
    const auto file = memory.open("a", Access::read);
    const int64_t table = multifile::MetadataReader(*file).read_pointer().varheader;
    TornStore one(memory, table), all(memory, table), group(memory, table);
    multifile::Reader task(one, "a", 1, mode_of("r"));
    std::vector<std::byte> found(1000);
    EXPECT_EQ(task.stream().read(found), found.size());
    EXPECT_EQ(found, content(1, 0, 1000));
    EXPECT_EQ(stream_of(all, "a", 1), content(1, 0, 1000));
    run_fibers(fibers(tasks), [&](Comm& comm) {
      multifile::Reader reader(group, comm.duplicate(), "a", mode_of("r"));
      std::vector<std::byte> bytes(1000);
      require(reader.stream().read(bytes) == bytes.size() && bytes == content(comm.rank(), 0, 1000), "data");
      reader.close();
    });
    for (const TornStore* store : {&one, &all, &group}) EXPECT_GT(store->torn, 0);
  }
}

// After the open, what is read is the file, not bytes that were prefetched.
TEST(OpenRequests, ARewrittenFileIsFound) {
  MemoryStore memory;
  write_in_parallel(memory, "a", program(1, 1000), 0, "w");
  multifile::Reader task(memory, "a", 1, mode_of("r")), all(memory, "a", mode_of("r"));
  write_in_parallel(memory, "a", program(1, 1000), 0, "w");  // with another identity
  std::vector<std::byte> found(1000);
  EXPECT_EQ(code_of([&] { task.stream().read(found); }), Code::foreign);
  EXPECT_EQ(code_of([&] { all.stream().read(found); }), Code::foreign);
}

}  // namespace
}  // namespace sheaf::test::open_requests_test
