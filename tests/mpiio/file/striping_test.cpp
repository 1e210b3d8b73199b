// The hints striping_unit and striping_factor must be applied to new files before any task writes data. Files
// that this library stripes must be closed after all tasks have written.
#include <gtest/gtest.h>

#include "mpiio/file/model.hpp"
#include "storage/decorators/forwarding_file.hpp"
#include "storage/decorators/forwarding_store.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/stores/memory_store.hpp"
#include "support/stores/recording_store.hpp"

namespace sheaf::striping_test {

using namespace mpiio;

namespace {

using layout::TypeMap;

void write(Store& store, const SharedMode& mode, const Hints& hints) {
  run_fibers({.ranks = 4, .stack_bytes = 128 << 10, .ranks_per_node = 2}, [&](Comm& comm) {
    const auto file = SharedFile::open(comm.duplicate(), store, "file", mode, hints);
    std::vector<std::byte> memory(1000, std::byte{1});
    file->write_at_all(file->sequence(), {}, 1000 * comm.rank(),
                       {memory.data(), TypeMap::bytes(1), std::ssize(memory)});
    file->close();
  });
}

constexpr SharedMode create{.write = true, .create = true};
Hints striped(int64_t unit, int64_t count) {
  Hints hints;
  hints.striping_unit = unit;
  hints.striping_factor = count;
  return hints;
}

TEST(Striping, OfANewFileIsAsTheHintsSay) {
  for (const bool exclusive : {false, true}) {
    MemoryStore memory;
    RecordingStore store(memory);
    SharedMode mode = create;
    mode.exclusive = exclusive;
    write(store, mode, striped(1 << 20, 8));
    EXPECT_EQ(store.describe(0), "create file in stripes of 1048576 bytes on 8 servers");
    for (size_t i = 1; i < store.length(); ++i)
      EXPECT_EQ(store.describe(i).find("create file"), std::string::npos);
    EXPECT_EQ(memory.striping("file").unit, 1 << 20);
    EXPECT_EQ(memory.contents("file").size(), 4000U);
  }
}

TEST(Striping, OneHintIsEnough) {
  MemoryStore store;
  write(store, create, striped(0, 3));
  EXPECT_EQ(store.striping("file").count, 3);
  EXPECT_EQ(store.striping("file").unit, 0);
}

TEST(Striping, OfAFileThatIsThereStays) {
  MemoryStore store;
  write(store, create, striped(1 << 20, 8));
  write(store, create, striped(2 << 20, 4));
  EXPECT_EQ(store.striping("file").count, 8);
  SharedMode exclusive = create;
  exclusive.exclusive = true;
  EXPECT_THROW(write(store, exclusive, striped(2 << 20, 4)), std::exception);
}

TEST(Striping, WithoutHintsTheFileSystemDecides) {
  MemoryStore memory;
  RecordingStore store(memory);
  write(store, create, {});
  EXPECT_EQ(store.describe(0), "create file");
  EXPECT_FALSE(memory.striping("file").is_wished());
}

class CloseCheckingFile final : public ForwardingFile {
 public:
  CloseCheckingFile(std::shared_ptr<File> inner, const int& writing)
      : ForwardingFile(std::move(inner)), writing_(writing) {}
  FileTraits traits() override { return {.dear_requests = true}; }
  void close() override {
    EXPECT_EQ(writing_, 0);
    ForwardingFile::close();
  }

 private:
  const int& writing_;
};

class CloseCheckingStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    return std::make_shared<CloseCheckingFile>(inner().open(path, access), writing);
  }
  int writing = 0;  // number of writing tasks
};

// A listener cannot see other tasks, so the close must set the length of its subfiles only after all tasks
// have written.
TEST(StripedFiles, AreClosedWhenAllHaveWritten) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    MemoryStore memory;
    CloseCheckingStore store(memory);
    store.writing = 3;
    run_fibers({.ranks = 3, .stack_bytes = 128 << 10, .seed = seed, .ranks_per_node = 2}, [&](Comm& comm) {
      const auto file = SharedFile::open(comm.duplicate(), store, "file", create);
      const std::vector<std::byte> mine(100, std::byte{1});
      for (int64_t i = 0; i < comm.rank(); ++i) {
        file->write_at({}, 100 * (3 * i + comm.rank()), {mine.data(), TypeMap::bytes(1), 100});
        yield();
      }
      --store.writing;
      file->close();
    });
  }
}

}  // namespace
}  // namespace sheaf::striping_test
