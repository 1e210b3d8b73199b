// multifile/create/copy_stream: copies the data of tasks between files, inside the kernel if possible and
// without holes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/export.hpp"
#include "base/extent.hpp"
#include "multifile/create/work_progress.hpp"
#include "multifile/metadata/physical_file.hpp"

namespace sheaf::multifile {

// Calls visit(offset, bytes) for the extents of the physical file that form the stream of a task, in order.
// Adjacent extents are joined; empty blocks are skipped.
template <class Visit>
void for_each_extent(const layout::ChunkGeometry& geometry, const BlockSizes& sizes, Visit visit) {
  int64_t begin = 0;
  int64_t end = 0;
  for (const auto [block, bytes] : sizes.used()) {
    const int64_t offset = geometry.offset(block);
    if (offset != end) {
      if (end > begin) visit(begin, end - begin);
      begin = offset;
    }
    end = offset + bytes;
  }
  if (end > begin) visit(begin, end - begin);
}

// Checksums to compute of a stream: one per `piece` bytes, at most 512 KiB; the last one may cover fewer
// bytes.
struct StreamSums {
  uint32_t piece = 0;                     // 0: none
  std::vector<uint32_t>* sums = nullptr;  // receives them at its end; required if `piece` > 0
};

// Copies the stream of a task of `file` to offset `to` of `target`, which must read as zero from there on.
// Verifies the stream's checksums, if any, in the same pass; throws `damaged` on a mismatch. Does not write
// extents of zeros. Computes `wanted`. Returns the number of bytes copied. Holds at most 512 KiB per thread.
int64_t copy_stream(const PhysicalFile& file, const TaskRow& row, File& target, int64_t to,
                    WorkProgress& progress, const StreamSums& wanted = {});

// Writes `bytes` at offset `to`, except runs of 16 KiB or more of zeros. `target` must read as zero there.
SHEAF_EXPORT void write_data(File& target, std::span<const std::byte> bytes, int64_t to);

// Closes a file to which data were copied. First extends it to `length` bytes if it is shorter because its
// data end in a hole.
SHEAF_EXPORT void close_output(File& output, int64_t length);

// Copies extents to one target, which must read as zero at the destinations. Does not copy holes. Extents
// that are adjacent in both files are copied as one. finish() completes all copies; until then a source must
// live and stay unchanged. Holds at most 512 KiB.
class SHEAF_EXPORT RangeCopier {
 public:
  // Extents of less than `smallest_move` bytes are read one by one and written together through a buffer;
  // larger ones are copied by the kernel. If `smallest_move` is 0, the kernel copies all extents, which is
  // faster for small targets.
  RangeCopier(File& target, WorkProgress& progress, int64_t smallest_move = 256 << 10)
      : target_(target), progress_(progress), smallest_move_(smallest_move) {}

  // Copies `length` bytes at offset `from` of `source` to offset `to` of the target. Error messages of all
  // calls contain the path of the file concerned.
  void add(File& source, int64_t from, int64_t to, int64_t length);
  // Copies the stream of a task of `file` to offset `to`. Returns its length in bytes.
  int64_t add_stream(const PhysicalFile& file, const TaskRow& row, int64_t to);
  void finish();

 private:
  void copy_range();
  void copy_data(int64_t from, int64_t to, int64_t length);
  void write_buffer();

  File& target_;
  WorkProgress& progress_;
  const int64_t smallest_move_;
  File* source_ = nullptr;
  int64_t from_ = 0, to_ = 0, length_ = 0;  // extent not copied yet
  Extent known_;                            // extent of data found last in the source
  LineBytes buffer_;                        // bytes read but not written yet
  int64_t buffer_to_ = 0, buffered_ = 0;
};

}  // namespace sheaf::multifile
