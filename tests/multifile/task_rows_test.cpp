// Rows of tasks are equal whether the tables of a file are held in memory or read slice by slice.
#include "multifile/metadata/task_rows.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "support/mapped.hpp"

namespace sheaf::task_rows_test {

using namespace multifile;

namespace {

using test::Program;
using test::Random;
using test::Step;

void expect_same(const TaskRow& a, const TaskRow& b, int64_t task) {
  SCOPED_TRACE(task);
  EXPECT_EQ(a.place.file, b.place.file);
  EXPECT_EQ(a.place.local_rank, b.place.local_rank);
  EXPECT_EQ(a.globalrank, b.globalrank);
  EXPECT_EQ(a.stored_chunk, b.stored_chunk);
  EXPECT_EQ(a.geometry.start, b.geometry.start);
  EXPECT_EQ(a.geometry.skip, b.geometry.skip);
  EXPECT_EQ(a.geometry.size, b.geometry.size);
  EXPECT_EQ(a.sums.at, b.sums.at);
  EXPECT_EQ(a.sums.piece, b.sums.piece);
  EXPECT_EQ(a.sums.local_rank, b.sums.local_rank);
  ASSERT_EQ(a.sizes.count, b.sizes.count);
  EXPECT_EQ(a.sizes.total(), b.sizes.total());
  for (int64_t block = 0; block < std::min(a.sizes.count, 100); ++block)
    EXPECT_EQ(a.sizes[block], b.sizes[block]) << block;
  const int64_t last = a.sizes.count - 1;
  EXPECT_EQ(a.sizes[last], b.sizes[last]);
  EXPECT_EQ(a.sizes.next_used(last / 2), b.sizes.next_used(last / 2));
}

// In order and in random order.
void expect_same_rows(Store& store, const std::string& path) {
  const Multifile held = load_multifile(store, path, Checking::on, INT64_MAX / 2);
  const Multifile sliced = load_multifile(store, path, Checking::on, 0);
  for (const PhysicalFile& f : held.files) EXPECT_GT(f.table->bytes_held(), 0);
  for (const PhysicalFile& f : sliced.files) EXPECT_EQ(f.table->bytes_held(), 0);
  ASSERT_EQ(held.ntasks(), sliced.ntasks());
  EXPECT_EQ(held.data_bytes(), sliced.data_bytes());
  TaskRows expected(held), found(sliced);
  for (int64_t t = 0; t < held.ntasks(); ++t) expect_same(found.at(t), expected.at(t), t);
  Random random(7);
  for (int i = 0; i < 40; ++i) {
    const int64_t t = random.below(held.ntasks());
    expect_same(found.at(t), expected.at(t), t);
    if (i < 5) expect_same(sliced.row(t), held.row(t), t);
  }
}

Program program(int64_t tasks, int32_t nfiles) {
  Random random(static_cast<uint64_t>(tasks + nfiles));
  Program p;
  p.nfiles = nfiles;
  p.fsblksize = 16;
  for (int64_t t = 0; t < tasks; ++t) {
    p.requests.push_back(1 + random.below(40));
    p.steps.emplace_back();
    for (int64_t i = random.below(4); i > 0; --i)
      p.steps.back().push_back({Step::write, random.below(p.chunk(t) + 1)});
  }
  return p;
}

TEST(TaskRows, OfASingleFile) {
  for (const int64_t tasks : {1, 5, 1024, 2600}) {
    MemoryStore store;
    test::write_serially(store, "a", program(tasks, 1));
    expect_same_rows(store, "a");
  }
}

TEST(TaskRows, OfTasksThatTakeTurnsInTheFilesOfASet) {
  for (const int64_t tasks : {7, 2600}) {
    test::MappedProgram p = test::random_mapped(3, tasks, 5, 2, 1);
    MemoryStore store;
    test::write_mapped(store, "a", p);
    expect_same_rows(store, "a");
  }
}

TEST(TaskRows, OfAFileThatWasNotClosed) {
  MemoryStore store;
  const std::vector<int64_t> chunks(2000, 16);
  std::vector<int64_t> ranks(chunks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  Writer writer(store, {"a", chunks, ranks, 16}, test::mode_of("w"));
  for (const int64_t t : {3, 1500}) {
    writer.select(t);
    writer.stream().write(test::content(t, 0, 50));
  }
  writer.commit();
  expect_same_rows(store, "a");
}

// One task has more blocks than a slice holds, most without data. Other tasks have few.
TEST(TaskRows, OfATaskWithVeryManyBlocks) {
  for (const int64_t others : {0, 3, 700}) {
    constexpr int32_t blocks = 200'000;
    const auto tasks = static_cast<int32_t>(others + 1);
    const int32_t many = tasks / 2;
    MemoryStore store;
    format::Header h;
    h.ntasks = tasks;
    h.fsblksize = 1;
    const auto file = store.open("a", Access::create);
    MetadataWriter writer(*file, h);
    writer.write_header();
    const std::vector<int64_t> zeros(static_cast<size_t>(tasks));
    std::vector<int64_t> chunks(zeros), counts(zeros.size(), 1);
    chunks[static_cast<size_t>(many)] = 1;
    counts[static_cast<size_t>(many)] = blocks;
    writer.write_ranks_and_sizes(0, zeros, chunks);
    const format::Pointer p{blocks, layout::data_start(tasks, 1) + blocks};
    writer.write_block_counts(p, 0, counts);
    int64_t total = 0;
    for (const int64_t round : {0, 77, 100'000, 150'001, blocks - 2}) {
      writer.write_block_sizes(p, round, many, std::span(&chunks[static_cast<size_t>(many)], 1));
      ++total;
    }
    file->resize(p.varheader + layout::meta2_size(tasks, blocks));
    writer.write_pointer(p);

    expect_same_rows(store, "a");
    const Multifile m = load_multifile(store, "a", Checking::on, 0);
    EXPECT_EQ(m.row(many).sizes.total(), total);
    ReadStream stream;
    stream.buffer().set_max(100);
    const TaskRow row = m.row(many);
    stream.load(m.files.front().file, row.geometry, row.sizes, {});
    std::vector<std::byte> found(10);
    EXPECT_EQ(stream.read(found), static_cast<size_t>(total));
    EXPECT_TRUE(stream.at_end());
    EXPECT_TRUE(stream.seek_absolute(3));
    EXPECT_EQ(stream.bytes_read(), 3);
    EXPECT_EQ(stream.available(100), total - 3);
    Reader reader(store, "a", many, test::mode_of("r"));
    EXPECT_EQ(reader.stream().sizes().total(), total);
  }
}

TEST(TaskRows, ReadersGoFromTaskToTaskInAnyOrder) {
  const Program p = program(1500, 1);
  MemoryStore store;
  test::write_serially(store, "a", p);
  Reader reader(store, "a", test::mode_of("r"));
  std::vector<int64_t> done(p.requests.size());
  Random random(11);
  for (int i = 0; i < 3000; ++i) {
    const int64_t t = random.below(reader.ntasks());
    reader.select(t);
    std::vector<std::byte> found(5);
    found.resize(reader.stream().read(found));
    int64_t& from = done[static_cast<size_t>(t)];
    EXPECT_EQ(found, test::content(t, from, std::ssize(found)));
    from += std::ssize(found);
  }
}

TEST(StreamPlaces, FindBytesBetweenEmptyBlocks) {
  std::vector<int64_t> many(100'000);
  many[5] = 3;
  many[40'000] = 2;
  for (const auto& sizes : {std::vector<int64_t>{0, 3, 0, 0, 2, 0}, many}) {
    const BlockSizes blocks(sizes.data(), static_cast<int32_t>(sizes.size()));
    const StreamPlaces places(blocks);
    EXPECT_EQ(places.total(), 5);
    int64_t offset = 0;
    for (const auto [block, bytes] : blocks.used()) {
      for (int64_t i = 0; i < bytes; ++i, ++offset) {
        const StreamPosition at = places.find(blocks, offset);
        EXPECT_EQ(std::pair(at.block, at.offset), std::pair(block, i)) << offset;
      }
    }
    const StreamPosition end = places.find(blocks, 5);
    EXPECT_EQ(end.offset, sizes[static_cast<size_t>(end.block)]);
  }
}

}  // namespace
}  // namespace sheaf::task_rows_test
