// creation/copy_stream: bytes of tasks moved from file to file, inside the kernel where it can, holes left
// out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/export.hpp"
#include "creation/work_progress.hpp"
#include "metadata/physical_file.hpp"

namespace sheaf {

// Calls visit(offset, bytes) for the pieces of the physical file that make up the stream of a task, in order;
// neighbours are joined, empty blocks left out.
template <class Visit>
void for_each_extent(const layout::ChunkGeometry& geometry, const BlockSizes& sizes, Visit visit) {
  int64_t begin = 0;
  int64_t end = 0;
  for_each_used(sizes, [&](int64_t block, int64_t bytes) {
    const int64_t offset = geometry.offset(block);
    if (offset != end) {
      if (end > begin) visit(begin, end - begin);
      begin = offset;
    }
    end = offset + bytes;
  });
  if (end > begin) visit(begin, end - begin);
}

// Brings the stream of a task of `file` to offset `to` of `target`, which must read as zero there, and
// compares it with its checksums, if there are any, in the same pass; throws damaged. Stretches of zeros are
// left out. With `piece` > 0 the checksums of every `piece` bytes (at most 512 KiB) of the stream, and of the
// rest, are put behind those in `sums`. Returns its bytes. Holds at most 512 KiB per thread.
int64_t copy_stream(const PhysicalFile& file, const TaskRow& row, File& target, int64_t to,
                    WorkProgress& progress, uint32_t piece = 0, std::vector<uint32_t>* sums = nullptr);

// Writes all but stretches of zeros, which `target` must have there as a hole.
SHEAF_EXPORT void write_data(File& target, std::span<const std::byte> bytes, int64_t to);

// Closes the target of copies, `length` bytes in all, which may end in a hole.
SHEAF_EXPORT void close_output(File& output, int64_t length);

// Copies ranges to one target, which must read as zero there, holes left out; ranges that are neighbours in
// both files are copied as one. What has been added is copied at the latest by finish(); a source must live
// and not change till then. Holds at most 512 KiB.
class SHEAF_EXPORT RangeCopier {
 public:
  // Pieces of less than `smallest_move` bytes are read one by one and written many at a time, through a
  // buffer; 0: all are moved by the kernel, which pays for targets so small that a buffer does not.
  RangeCopier(File& target, WorkProgress& progress, int64_t smallest_move = 256 << 10)
      : target_(target), progress_(progress), smallest_move_(smallest_move) {}

  // `length` bytes at `from` of `source` to `to` of the target. Errors of this and the other calls name the
  // file.
  void add(File& source, int64_t from, int64_t to, int64_t length);
  // The stream of a task of `file`, to `to` and on. Returns its length.
  int64_t add_stream(const PhysicalFile& file, const TaskRow& row, int64_t to);
  void finish();

 private:
  // Where a file has data, as found last: bytes from `data` up to the hole.
  struct DataRange {
    int64_t data = 0;
    int64_t hole = 0;
  };
  void copy_range();
  void copy_data(int64_t from, int64_t to, int64_t length);
  void write_buffer();

  File& target_;
  WorkProgress& progress_;
  const int64_t smallest_move_;
  File* source_ = nullptr;
  int64_t from_ = 0, to_ = 0, length_ = 0;  // not copied yet
  DataRange known_;                         // of the source
  LineBytes buffer_;                        // read and not written yet:
  int64_t buffer_to_ = 0, buffered_ = 0;
};

}  // namespace sheaf
