// multifile/copy_stream: bytes of tasks moved from file to file, inside the kernel where it can, holes left
// out.
#pragma once

#include <cstdint>

#include "multifile/physical_file.hpp"
#include "multifile/work_progress.hpp"

namespace sheaf {

// Copies `length` bytes at `from` of `source` to `to` of `target`, which must read as zero there.
void copy_range(File& source, File& target, int64_t from, int64_t to, int64_t length, WorkProgress& progress);

// Calls visit(offset, bytes) for the pieces of the physical file that make up the stream of a task, in order;
// neighbours are joined, empty blocks left out.
template <class Visit>
void for_each_extent(const layout::ChunkGeometry& geometry, const BlockSizes& sizes, Visit visit) {
  int64_t begin = 0;
  int64_t end = 0;
  for (int64_t b = 0; b < sizes.count; ++b) {
    if (sizes[b] == 0) continue;
    const int64_t offset = geometry.offset(b);
    if (offset != end) {
      if (end > begin) visit(begin, end - begin);
      begin = offset;
    }
    end = offset + sizes[b];
  }
  if (end > begin) visit(begin, end - begin);
}

// Copies ranges to one target; those that are neighbours in both files are copied as one. What has been added
// is copied at the latest by finish().
class RangeCopier {
 public:
  RangeCopier(File& target, WorkProgress& progress) : target_(target), progress_(progress) {}

  void add(File& source, int64_t from, int64_t to, int64_t length);
  // The stream of `task`, to `to` and on. Returns its length.
  int64_t add_stream(const Multifile& multifile, int64_t task, int64_t to);
  void finish();

 private:
  File& target_;
  WorkProgress& progress_;
  File* source_ = nullptr;
  int64_t from_ = 0, to_ = 0, length_ = 0;  // not copied yet
};

}  // namespace sheaf
