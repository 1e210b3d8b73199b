// Files in which tasks have overrun their chunks. Other writers of the format leave such files.
#include <gtest/gtest.h>

#include "base/warnings.hpp"
#include "multifile/metadata/metadata_io.hpp"
#include "multifile/recover/repair.hpp"
#include "multifile/tools/verify.hpp"
#include "support/programs.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::test::overrun_files_test {

using namespace multifile;

namespace {

constexpr int64_t chunk = 512;

class OverrunFiles : public ::testing::Test {
 protected:
  // Creates tasks with one full chunk each. Stores `sizes` as their sizes, with `more` bytes after the
  // tables.
  void make(const std::vector<int64_t>& sizes, int64_t more = 0,
            const char* words = "w,checksums=off,journal=off") {
    sizes_ = sizes;
    Program p;
    p.fsblksize = chunk;
    for (size_t t = 0; t < sizes.size(); ++t) {
      p.requests.push_back(chunk);
      p.steps.push_back({{Step::write, chunk}});
    }
    write_in_parallel(store_, "a", p, 0, words);
    const auto file = store_.open("a", Access::write);
    MetadataReader reader(*file);
    const format::Pointer pointer = reader.read_pointer();
    file->write_at(std::as_bytes(std::span(sizes)), block_sizes_offset(reader.header(), pointer, 0));
    if (more > 0) file->resize(file->status().size + more);
    start_ = pointer.varheader - chunk * std::ssize(sizes);
    take_warnings();
  }
  std::vector<std::byte> in_file(size_t task, int64_t bytes) {
    std::vector<std::byte> found(static_cast<size_t>(bytes));
    store_.open("a", Access::read)->read_at(found, start_ + static_cast<int64_t>(task) * chunk);
    return found;
  }
  static std::vector<std::byte> all_of(ReadStream& stream) {
    std::vector<std::byte> found(4096);
    found.resize(stream.read(found));
    return found;
  }
  // Requires that every reader returns `bytes` bytes for the tasks.
  void expect(const std::vector<int64_t>& bytes, bool warns) {
    const auto warned = [&] { return take_warnings().size() == (warns ? 1u : 0u); };
    {
      Reader all(store_, "a", mode_of("r"));
      EXPECT_TRUE(warned());
      for (size_t t = 0; t < bytes.size(); ++t) {
        all.select(static_cast<int64_t>(t));
        EXPECT_EQ(all_of(all.stream()), in_file(t, bytes[t])) << "task " << t;
      }
    }
    for (size_t t = 0; t < bytes.size(); ++t) {
      Reader one(store_, "a", static_cast<int64_t>(t), mode_of("r"));
      EXPECT_EQ(all_of(one.stream()), in_file(t, bytes[t])) << "task " << t;
    }
    take_warnings();
    TaskHandles handles(store_);
    run_fibers(fibers(static_cast<int>(bytes.size()), 0), [&](Comm& comm) {
      Reader reader(handles, comm.duplicate(), "a", mode_of("r"));
      const auto t = static_cast<size_t>(comm.rank());
      require(all_of(reader.stream()) == in_file(t, bytes[t]), "the stream of a parallel task");
      reader.close();
    });
    EXPECT_TRUE(warned());
    WorkProgress quiet;
    EXPECT_EQ(verify(store_, "a", true, quiet).ok(), !warns);
    take_warnings();
  }

  MemoryStore store_;
  std::vector<int64_t> sizes_;
  int64_t start_ = 0;
};

TEST_F(OverrunFiles, BytesCountUpToTheNextBlock) {
  make({300, 800, 300});
  expect({300, 512, 300}, true);
  make({800, 300, 300});
  expect({512, 300, 300}, true);
}

TEST_F(OverrunFiles, BytesCountWhereNoBlockLies) {
  make({300, 800, 0});
  expect({300, 800, 0}, false);
  make({1300, 0, 300});
  expect({1024, 0, 300}, true);
  make({1024, 0, 300});
  expect({1024, 0, 300}, false);
}

TEST_F(OverrunFiles, BytesEndInFrontOfTheTables) {
  make({300, 300, 800}, 1000);
  expect({300, 300, 512}, true);
  make({1000, 0, 0});
  expect({1000, 0, 0}, false);
}

TEST_F(OverrunFiles, TwoThatMeetHaveTheirChunksOnly) {
  make({1300, 800, 0, 100});
  expect({512, 512, 0, 100}, true);
}

TEST_F(OverrunFiles, BeyondTheFileIsDamage) {
  make({300, 300, 100000});
  EXPECT_THROW(Reader(store_, "a", mode_of("r")), Error);
  EXPECT_THROW(Reader(store_, "a", 2, mode_of("r")), Error);
  make({300, 300, -1});
  EXPECT_THROW(Reader(store_, "a", mode_of("r")), Error);
}

TEST_F(OverrunFiles, RepairMarksThem) {
  make({300, 800, 300});
  WorkProgress quiet;
  const RepairReport dry = repair(store_, "a", {.copy_to = "", .dry_run = true}, quiet);
  ASSERT_EQ(dry.files.at(0).unknown.size(), 1u);
  EXPECT_NE(dry.files[0].unknown[0].find("288 bytes"), std::string::npos) << dry.files[0].unknown[0];
  EXPECT_EQ(dry.files[0].data_bytes, 1112);
  EXPECT_FALSE(report_if_complete(store_, "a", {}));
  for (int again = 0; again < 2; ++again) {
    repair(store_, "a", {}, quiet);
    Reader all(store_, "a", mode_of("r"));
    EXPECT_TRUE(all.facts().guessed);
    EXPECT_EQ(all.multifile().guessed_ends(), 1u);
    take_warnings();
    expect({300, 512, 300}, true);
  }
}

}  // namespace
}  // namespace sheaf::test::overrun_files_test
