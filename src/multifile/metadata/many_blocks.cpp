#include "multifile/metadata/many_blocks.hpp"
#include "multifile/metadata/constants.hpp"

#include <algorithm>

namespace sheaf::multifile {

using namespace metadata_constants;

int64_t ManyBlocks::size_of(int64_t block) {
  if (!in_window(block)) load(block);
  return window_[static_cast<size_t>(block - begin_)];
}

int64_t ManyBlocks::next_candidate(int64_t block) {
  while (block < count_) {
    if (in_window(block)) return block;
    const int64_t empty = tables_->locked()->empty_rounds(tables_->pointer, block, task_);
    if (empty == 0) return block;
    block += empty;
  }
  return INT64_MAX;
}

void ManyBlocks::load(int64_t block) {
  window_.clear();  // keeps the window empty if reading fails
  const int64_t tasks = tables_->reader->header().ntasks;
  const bool alone = tasks > max_neighbours;
  std::vector<int64_t> sizes(static_cast<size_t>(
      std::min(count_ - block, alone ? singles_at_once : neighbour_sizes_at_once / tasks)));
  const auto reader = tables_->locked();
  if (alone) {
    for (size_t i = 0; i < sizes.size(); ++i)
      reader->read_block_sizes(tables_->pointer, block + static_cast<int64_t>(i), task_, {&sizes[i], 1});
  } else {
    std::vector<int64_t> rounds(sizes.size() * static_cast<size_t>(tasks));
    reader->read_block_sizes(tables_->pointer, block, 0, rounds);
    for (size_t i = 0; i < sizes.size(); ++i)
      sizes[i] = rounds[i * static_cast<size_t>(tasks) + static_cast<size_t>(task_)];
  }
  begin_ = block;
  window_ = std::move(sizes);
}

BlockSizes read_blocks_of_task(const std::shared_ptr<SharedReader>& tables,
                               const layout::ChunkGeometry& geometry, int64_t local_rank,
                               std::shared_ptr<const void>& held) {
  MetadataReader& reader = *tables->reader;
  int64_t count = 0;
  reader.read_block_counts(tables->pointer, local_rank, std::span(&count, 1));
  if (count <= max_blocks_held) {
    const auto few = std::make_shared<const std::vector<int64_t>>(
        read_blocks_of_task(reader, tables->pointer, geometry, local_rank));
    held = few;
    return {few->data(), static_cast<int32_t>(count)};
  }
  const auto many = std::make_shared<ManyBlocks>(tables, local_rank, count);
  const BlockSizes sizes(*many, static_cast<int32_t>(count));
  bool overruns = false;
  for (const auto [block, bytes] : sizes.used()) {
    reader.check_block(tables->pointer, geometry, local_rank, block, bytes);
    overruns |= bytes > geometry.size;
  }
  if (overruns) {
    reader.find_overruns(tables->pointer);
    many->forget();
  }
  held = many;
  return sizes;
}

}  // namespace sheaf::multifile
