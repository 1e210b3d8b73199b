#include "metadata/many_blocks.hpp"
#include "metadata/constants.hpp"

#include <algorithm>

namespace sheaf {

using namespace metadata_constants;

int64_t ManyBlocks::size_of(int64_t block) {
  if (!in_window(block)) load(block);
  return window_[static_cast<size_t>(block - begin_)];
}

int64_t ManyBlocks::next_candidate(int64_t block) {
  while (block < count_) {
    if (in_window(block)) return block;
    const int64_t empty = tables_->with(
        [&](MetadataReader& reader) { return reader.empty_rounds(tables_->pointer, block, task_); });
    if (empty == 0) return block;
    block += empty;
  }
  return INT64_MAX;
}

void ManyBlocks::load(int64_t block) {
  window_.clear();  // should reading fail
  const int64_t tasks = tables_->reader->header().ntasks;
  const bool alone = tasks > most_neighbours;
  std::vector<int64_t> sizes(static_cast<size_t>(
      std::min(count_ - block, alone ? singles_at_once : neighbour_sizes_at_once / tasks)));
  tables_->with([&](MetadataReader& reader) {
    if (alone) {
      for (size_t i = 0; i < sizes.size(); ++i)
        reader.read_block_sizes(tables_->pointer, block + static_cast<int64_t>(i), task_,
                                std::span(sizes).subspan(i, 1));
      return;
    }
    std::vector<int64_t> rounds(sizes.size() * static_cast<size_t>(tasks));
    reader.read_block_sizes(tables_->pointer, block, 0, rounds);
    for (size_t i = 0; i < sizes.size(); ++i)
      sizes[i] = rounds[i * static_cast<size_t>(tasks) + static_cast<size_t>(task_)];
  });
  begin_ = block;
  window_ = std::move(sizes);
}

BlocksOfTask::BlocksOfTask(const std::shared_ptr<SharedReader>& tables, const layout::ChunkGeometry& geometry,
                           int64_t local_rank) {
  MetadataReader& reader = *tables->reader;
  int64_t count = 0;
  reader.read_block_counts(tables->pointer, local_rank, std::span(&count, 1));
  count_ = static_cast<int32_t>(count);
  if (count > most_blocks_held) {
    many_ = std::make_unique<ManyBlocks>(tables, local_rank, count);
    for_each_used(sizes(), [&](int64_t block, int64_t bytes) {
      reader.check_block(tables->pointer, geometry, local_rank, block, bytes);
    });
  } else {
    held_ = read_blocks_of_task(reader, tables->pointer, geometry, local_rank);
  }
}

BlockSizes BlocksOfTask::sizes() const {
  return many_ ? BlockSizes(*many_, count_) : BlockSizes(held_.data(), count_);
}

}  // namespace sheaf
