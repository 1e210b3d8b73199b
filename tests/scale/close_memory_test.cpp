// Memory of a slice's metadata writer in the close of tasks with very much data: it must be independent of
// the number of checksums. No data exists: the test makes each stream behave as if its task had written it,
// with modelled checksums.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "multifile/stream/file_checks.hpp"
#include "multifile/writer/writer.hpp"
#include "scale/counting_heap.hpp"
#include "storage/decorators/forwarding_file.hpp"
#include "storage/decorators/forwarding_store.hpp"
#include "storage/decorators/shared_handles.hpp"
#include "support/fibers/fiber_comm.hpp"
#include "support/forwarding_comm.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::scale_test {

using namespace multifile;

namespace {

constexpr int slice_tasks = 16'384;                  // the largest slice of a file of a million tasks
constexpr int64_t metadata_writer_limit = 64 << 20;  // heap bytes
constexpr int64_t piece = format::default_piece;
constexpr int models = 7;  // different arrays of checksums

// SHEAF_CLOSE_GIB: GiB of data of each task. By default 1, so that the test takes a second; `make soak` uses
// 16.
int64_t sums_per_task() {
  const char* const text = std::getenv("SHEAF_CLOSE_GIB");
  return (text ? std::strtoll(text, nullptr, 10) : 1) * ((1 << 30) / piece);
}

// Decorator of a Comm. Gives a group slices as large as those of a much larger group.
class InLargeSlices final : public test::ForwardingComm {
 public:
  using ForwardingComm::ForwardingComm;
  int grain() const override { return slice_tasks; }
};

// Compares the data written from offset `begin` on with the expected data, and keeps no copy.
class ExpectedBytes {
 public:
  ExpectedBytes(int64_t begin, const std::vector<std::vector<uint32_t>>& arrays, int64_t tasks)
      : begin_(begin),
        arrays_(arrays),
        end_(begin + tasks * std::ssize(std::as_bytes(std::span(arrays[0])))),
        next_(begin) {}

  int64_t begin() const { return begin_; }
  bool owns(int64_t offset) const { return offset >= begin_ && offset < end_; }
  void see(std::span<const std::byte> data, int64_t offset) {
    right_ &= offset == next_;
    while (!data.empty() && right_) {
      const int64_t of_task = std::ssize(std::as_bytes(std::span(arrays_[0])));
      const int64_t task = (next_ - begin_) / of_task;
      const auto own = std::as_bytes(std::span(arrays_[static_cast<size_t>(task % models)]));
      const auto expected = own.subspan(static_cast<size_t>((next_ - begin_) % of_task));
      const size_t n = std::min(expected.size(), data.size());
      right_ = std::equal(data.begin(), data.begin() + static_cast<ptrdiff_t>(n), expected.begin());
      next_ += static_cast<int64_t>(n);
      data = data.subspan(n);
    }
  }
  bool all_seen() const { return right_ && next_ == end_; }

 private:
  int64_t begin_;
  const std::vector<std::vector<uint32_t>>& arrays_;
  int64_t end_;
  int64_t next_;
  bool right_ = true;
};

// Files in memory, without the checksums of the data.
class WithoutSums final : public ForwardingStore {
 public:
  WithoutSums(Store& inner, ExpectedBytes& sums) : ForwardingStore(inner), sums_(sums) {}
  std::shared_ptr<File> open(const std::string& path, Access access) override {
    return std::make_shared<FileWithoutSums>(inner().open(path, access), sums_);
  }

 private:
  class FileWithoutSums final : public ForwardingFile {
   public:
    FileWithoutSums(std::shared_ptr<File> file, ExpectedBytes& sums)
        : ForwardingFile(std::move(file)), sums_(sums) {}
    // Reports the length of the data that tasks pretend to have written.
    FileStatus status() override {
      FileStatus status = inner().status();
      if (status.size > 0) status.size = std::max(status.size, sums_.begin());
      return status;
    }
    void write_at(std::span<const std::byte> data, int64_t offset) override {
      if (sums_.owns(offset)) return sums_.see(data, offset);
      inner().write_at(data, offset);
    }

   private:
    ExpectedBytes& sums_;
  };

  ExpectedBytes& sums_;
};

// Makes the stream of an idle task behave as if the task had written one piece of data per checksum of its
// model.
void pretend(Writer& writer, int model, std::span<const uint32_t> sums) {
  WriteStream& stream = writer.stream();
  const layout::ChunkGeometry geometry = stream.geometry();
  TaskBlocks blocks = stream.park();
  blocks.position = blocks.high = piece * std::ssize(sums);
  blocks.past = std::make_unique<TaskBlocks::Past>();
  {
    const counting_heap::Alike alike(model);
    blocks.past->sums.assign(sums.begin(), sums.end());
  }
  stream.load(geometry, std::move(blocks), writer.task());
}

TEST(CloseMemory, OfAMetadataWriterIsBoundedWhateverItsTasksHaveWritten) {
  const int64_t of_task = sums_per_task();
  std::vector<std::vector<uint32_t>> arrays(models);
  for (uint32_t m = 0; m < models; ++m)
    for (int64_t i = 0; i < of_task; ++i) arrays[m].push_back(static_cast<uint32_t>(i) * 2654435761U + m);
  format::Header header;
  header.fsblksize = 4096;
  header.ntasks = slice_tasks;
  const format::Pointer pointer{1, layout::data_start(slice_tasks, 4096) + slice_tasks * of_task * piece};
  const format::Trailer plan = plan_trailer(header, pointer, {}, slice_tasks * of_task, -1);

  MemoryStore memory;
  ExpectedBytes expected(plan.find(format::SectionKind::sums)->offset, arrays, slice_tasks);
  WithoutSums without(memory, expected);
  SharedHandles store(without);
  const OpenMode mode = parse_open_mode("w,journal=off");
  FiberOptions options;
  options.ranks = slice_tasks;
  counting_heap::start(slice_tasks);
  run_fibers(options, [&](Comm& world) {
    ParallelWriteRequest request;
    request.path = "a";
    request.chunk_size = piece * of_task;
    request.fsblksize = 4096;
    Writer writer(store, std::make_unique<InLargeSlices>(world.duplicate()), std::move(request), mode);
    const int model = world.rank() % models;
    pretend(writer, model, arrays[static_cast<size_t>(model)]);
    writer.close();
  });
  const int64_t metadata_writer = counting_heap::max_held(0);
  int64_t member = 0;
  for (int t = 1; t < slice_tasks; ++t) member = std::max(member, counting_heap::max_held(t));
  counting_heap::stop();
  std::printf(
      "close %8d tasks of %lld KiB of checksums: %lld KiB at the metadata writer, %lld KiB at a member\n",
      slice_tasks, static_cast<long long>(4 * of_task >> 10), static_cast<long long>(metadata_writer >> 10),
      static_cast<long long>(member >> 10));
  EXPECT_LE(metadata_writer, metadata_writer_limit);
  // Each member may hold its own checksums once, and little else.
  EXPECT_LE(member, 4 * of_task + (4 << 10));

  EXPECT_TRUE(expected.all_seen());
  const auto file = memory.open("a", Access::read);
  const auto groups = plan.find(format::SectionKind::groups)->offset;
  for (int64_t group = 0; group < format::groups_of(slice_tasks); ++group) {
    std::array<std::byte, format::group_entry_size> bytes;
    ASSERT_EQ(file->read_at(bytes, groups + format::group_entry_size * group), bytes.size());
    const format::Group found = format::decode_group(bytes);
    EXPECT_EQ(found.first_sum, group * format::group_tasks * of_task);
    format::Hash hash;
    for (int64_t t = 0; t < format::group_tasks; ++t)
      hash.add(
          std::as_bytes(std::span(arrays[static_cast<size_t>((group * format::group_tasks + t) % models)])));
    EXPECT_EQ(found.sums, hash.value()) << "group " << group;
  }
}

}  // namespace
}  // namespace sheaf::scale_test
