// Requests that a task's stream makes to its file. A file system that stores blocks reads an existing block
// if a request writes some of its bytes and leaves others that the block has.
#include <gtest/gtest.h>

#include "multifile/stream/write_stream.hpp"
#include "storage/decorators/forwarding_file.hpp"
#include "support/programs.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf::test::large_requests_test {

using namespace multifile;

namespace {

constexpr int64_t border = 64 << 10;

struct RequestCounts {
  int64_t requests = 0;
  int64_t bytes = 0;
  int64_t partial = 0;  // blocks of which a request wrote a part
  int64_t read = 0;     // existing blocks that had to be read for that

  bool operator==(const RequestCounts&) const = default;
};

std::ostream& operator<<(std::ostream& to, const RequestCounts& counts) {
  return to << counts.requests << " requests, " << counts.bytes << " bytes, " << counts.partial
            << " partial, " << counts.read << " read";
}

// Counts the requests of a stream that writes forward from offset 0.
class BlockCountingFile final : public ForwardingFile {
 public:
  BlockCountingFile(std::shared_ptr<File> file, int64_t block)
      : ForwardingFile(std::move(file)), block_(block) {}

  void write_at(std::span<const std::byte> data, int64_t offset) override {
    count(offset, std::ssize(data));
    ForwardingFile::write_at(data, offset);
  }
  void write_pieces(std::span<const Piece<const std::byte>> pieces) override {
    count(pieces.front().offset, pieces.back().end() - pieces.front().offset);
    for (const auto& [offset, bytes] : pieces) ForwardingFile::write_at(bytes, offset);
  }
  const RequestCounts& counts() const { return counts_; }

 private:
  void count(int64_t offset, int64_t bytes) {
    ++counts_.requests;
    counts_.bytes += bytes;
    const int64_t end = offset + bytes;
    for (int64_t begin = offset / block_ * block_; begin < end; begin += block_) {
      if (offset <= begin && begin + block_ <= end) continue;
      ++counts_.partial;
      const bool replaces_all = offset <= begin && end >= std::min(begin + block_, end_);
      counts_.read += begin < end_ && !replaces_all;
    }
    end_ = std::max(end_, end);
  }

  const int64_t block_;
  int64_t end_ = 0;  // of the file
  RequestCounts counts_;
};

// Writes requests of `sizes` bytes through a stream with a buffer of 512 KiB. Compares the bytes and
// checksums in the file, and returns the counts for blocks of `block` bytes.
RequestCounts write(const std::vector<int64_t>& sizes, int64_t block, uint32_t piece = 0) {
  MemoryStore memory;
  const auto file = memory.open("a", Access::create);
  const auto counted = std::make_shared<BlockCountingFile>(file, block);
  const layout::ChunkGeometry geometry{0, 1 << 30, 1 << 30};
  WriteStream stream;
  stream.bind(counted, 512 << 10);
  stream.load(geometry, TaskBlocks::with_sums(piece), 0);
  int64_t total = 0;
  for (const int64_t size : sizes) {
    stream.write(content(0, total, size));
    total += size;
    EXPECT_EQ(stream.position(), (StreamPosition{0, total}));
  }
  TaskBlocks blocks = stream.park();
  EXPECT_EQ(blocks.total(), total);
  EXPECT_FALSE(blocks.reads_back());
  std::vector<std::byte> found(static_cast<size_t>(total + 1));
  found.resize(file->read_at(found, 0));
  EXPECT_EQ(found, content(0, 0, total));
  if (piece > 0) {
    std::vector<uint32_t> expected(static_cast<size_t>((total + piece - 1) / piece));
    sum_pieces(*file, 0, total, piece, expected);
    EXPECT_EQ(blocks.take_sums(*file, geometry), expected);
  }
  return counted->counts();
}

std::vector<int64_t> repeat(size_t times, std::vector<int64_t> sizes) {
  std::vector<int64_t> all;
  for (; times > 0; --times) all.insert(all.end(), sizes.begin(), sizes.end());
  return all;
}

std::vector<int64_t> joined(std::vector<int64_t> first, const std::vector<int64_t>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST(LargeRequests, ReachTheFileAsTheProgramMadeThem) {
  EXPECT_EQ(write({16860961}, 2 << 20), (RequestCounts{1, 16860961, 1, 0}));
  EXPECT_EQ(write({100003}, 2 << 20), (RequestCounts{1, 100003, 1, 0}));
  EXPECT_EQ(write({600, 16860961}, 2 << 20), (RequestCounts{1, 16861561, 1, 0}));
  EXPECT_EQ(write(repeat(8, {1000003}), 2 << 20).requests, 8);
}

TEST(LargeRequests, BeginOnABorderAndWriteItsBlockWhole) {
  // Each of 8 requests but the first writes up to 64 KiB of the preceding one again.
  EXPECT_EQ(write(repeat(8, {1000003}), border), (RequestCounts{8, 8000024 + 212820, 8, 0}));
  EXPECT_EQ(write(joined(repeat(100, {100}), repeat(8, {1000003})), border).read, 0);
  EXPECT_EQ(write(repeat(8, {1000003, 100}), border).read, 0);
}

TEST(LargeRequests, SmallerThanTheBufferAreWrittenAgainOnce) {
  EXPECT_EQ(write(repeat(8, {100003}), border), (RequestCounts{9, 800024 + 34467, 2, 0}));
}

TEST(LargeRequests, SmallOnesThatFollowBeginOnABorder) {
  EXPECT_EQ(write(joined({1000003}, repeat(20000, {100})), border),
            (RequestCounts{6, 3000003 + 16963, 2, 0}));
  EXPECT_EQ(write(joined({1000003}, repeat(100, {100})), border), (RequestCounts{2, 1010003 + 16963, 2, 0}));
}

TEST(LargeRequests, SmallOnesAloneAreMerged) {
  EXPECT_EQ(write(repeat(20000, {100}), border), (RequestCounts{4, 2000000, 1, 0}));
}

// The parts have about 1 MiB and end on borders. A rest of less than 64 KiB belongs to the last part.
TEST(LargeRequests, WithChecksumsAreWrittenInParts) {
  EXPECT_EQ(write({4 << 20}, border, border), (RequestCounts{4, 4 << 20, 0, 0}));
  EXPECT_EQ(write({(4 << 20) + 1000}, border, border), (RequestCounts{4, (4 << 20) + 1000, 1, 0}));
  EXPECT_EQ(write(repeat(8, {1000003}), border, border).read, 0);
}

TEST(LargeRequests, AreInTheFileWithTheirChecksumsWhateverTheSizes) {
  Random random(1);
  constexpr int64_t limits[] = {200,    5000,      border - 1, border, border + 1,
                                200000, 512 << 10, 700000,     2000000};
  for (int round = 0; round < 25; ++round) {
    std::vector<int64_t> sizes;
    for (int request = 0; request < 12; ++request)
      sizes.push_back(1 + random.below(limits[static_cast<size_t>(random.below(std::ssize(limits)))]));
    EXPECT_EQ(write(sizes, border, border).read, 0);
  }
}

}  // namespace
}  // namespace sheaf::test::large_requests_test
