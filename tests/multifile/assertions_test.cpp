// The assertions of streams, journals and the creation of multifiles.
#include <gtest/gtest.h>

#include <vector>

#include "multifile/collective/merge_boundary_blocks.hpp"
#include "multifile/create/copy_stream.hpp"
#include "multifile/create/output_set.hpp"
#include "multifile/journal/journal_writer.hpp"
#include "multifile/keyval/keyval_index.hpp"
#include "multifile/stream/overruns.hpp"
#include "multifile/stream/write_stream.hpp"
#include "multifile/writer/writer.hpp"
#include "support/assertions.hpp"
#include "support/programs.hpp"

namespace sheaf::test::multifile_assertions_test {
using namespace multifile;
namespace {

constexpr int64_t chunk = 4096;
const std::vector<int64_t> sizes{chunk, chunk}, ranks{0, 1};

TEST(Assertions, OfWriteStreams) {
  MemoryStore store(4096, 512);
  WriteStream stream;
  stream.bind(store.open("a", Access::create), 1024);
  stream.load({.start = 0, .skip = 100, .size = 100}, {}, 0);
  stream.write(std::vector<std::byte>(10));
  EXPECT_ASSERTION(stream.load({}, {}, 0), "size.. == 0");
  EXPECT_ASSERTION(stream.leave([] {}), "size.. == 0");
  EXPECT_ASSERTION(stream.bind(nullptr, 0), "size.. == 0");
  EXPECT_ASSERTION(stream.return_to({.at = {1, 0}, .high = 0}), "mark.at.block <= chunks_.chunk");
  EXPECT_ASSERTION(stream.attach(std::unique_ptr<StdioHandle>()), "handle");
}

TEST(Assertions, OfBlocksOfTasks) {
  TaskBlocks blocks;
  blocks.move(10);
  EXPECT_ASSERTION(blocks.return_to(1, 0, 0, 10), "block < count");
  EXPECT_DEBUG_ASSERTION(RowView().row(), "at_");
  MemoryStore store;
  EXPECT_ASSERTION(move_tail(*store.open("a", Access::create), {}, 0, 1), "g.size > 0");
}

TEST(Assertions, OfJournals) {
  MemoryStore store(4096, 512);
  const Writer writer(store, SerialWriteRequest{"a", sizes, ranks, chunk}, mode_of("w"));
  const auto data = store.open("a", Access::write);
  MetadataReader metadata(*data);
  JournalWriter journal(store, JournalKey::of(metadata.header(), metadata.extension()),
                        Journaling::best_effort);
  EXPECT_ASSERTION(journal.report(*data, {0, 0, -1, false}), "bytes >= 0");
  EXPECT_ASSERTION(journal.report(*data, {2, 0, 1, false}), "report.task < ntasks_");
  EXPECT_ASSERTION(journal.record(*data, {{0, 0, 1, false}}), "finished");
  EXPECT_ASSERTION(journal.defer(nullptr), "holder");
  EXPECT_ASSERTION(journal.send(-1), "most >= 0");
}

TEST(Assertions, OfOutputs) {
  MemoryStore store;
  OutputSet outputs(store, OutputSet::Existing::refused);
  outputs.add("a")->close();
  EXPECT_ASSERTION(outputs.own("a"), "names_.empty");
  outputs.commit();
  EXPECT_ASSERTION(outputs.commit(), "committed_ == 0");
}

TEST(Assertions, OfBoundaryBlocksAndRecords) {
  std::vector<Extent> extents;
  EXPECT_ASSERTION(add_boundary_blocks({}, 50, -1, extents), "length >= 0");
  MemoryStore store;
  const int64_t no_bytes = 0;
  ReadStream stream;
  stream.load(store.open("a", Access::create), {.start = 0, .skip = chunk, .size = chunk}, {&no_bytes, 1},
              {});
  KeyvalReader reader(stream);
  reader.add(0, native_order);
  EXPECT_ASSERTION(reader.add(0, native_order), "find.task");
}

}  // namespace
}  // namespace sheaf::test::multifile_assertions_test
