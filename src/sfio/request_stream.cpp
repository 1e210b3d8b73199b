#include "sfio/request_stream.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "sfio/link.hpp"
#include "sfio/service/constants.hpp"

namespace sheaf::sfio {

RequestStreams::RequestStreams(const layout::Stripes& stripes, std::span<const SubfileHandle> subfiles,
                               std::vector<Block> blocks)
    : stripes_(stripes), subfiles_(subfiles), blocks_(std::move(blocks)) {
  SHEAF_ASSERT(stripes_.unit > 0 && stripes_.count == std::ssize(subfiles));
  SHEAF_DEBUG_ASSERT(std::ranges::adjacent_find(blocks_, [](const Block& one, const Block& next) {
                       return next.offset < one.end();
                     }) == blocks_.end());  // sorted and disjoint
  // Indices of the stream and the row of each subfile; -1: not assigned yet.
  std::vector<std::pair<int, int>> places(subfiles.size(), {-1, -1});
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const int64_t first = blocks_[i].offset / stripes_.unit;
    const int64_t last = (blocks_[i].end() - 1) / stripes_.unit;
    for (int64_t unit = first; unit <= std::min(last, first + stripes_.count - 1); ++unit) {
      const auto subfile = static_cast<size_t>(unit % stripes_.count);
      auto& [stream, row] = places[subfile];
      if (stream < 0) {
        const auto known = std::ranges::find(listeners_, subfiles_[subfile].listener);
        stream = static_cast<int>(known - listeners_.begin());
        if (known == listeners_.end()) {
          listeners_.push_back(subfiles_[subfile].listener);
          streams_.emplace_back();
        }
        auto& rows = streams_[static_cast<size_t>(stream)].rows;
        row = static_cast<int>(rows.size());
        rows.push_back({static_cast<int>(subfile), {}});
      }
      streams_[static_cast<size_t>(stream)].rows[static_cast<size_t>(row)].blocks.push_back(i);
    }
  }
}

Batch RequestStreams::next(size_t i, int64_t room) {
  SHEAF_ASSERT(i < streams_.size() && room > 0);
  ListenerRequests& stream = streams_[i];
  Batch batch;
  int64_t extents = 0;
  while (stream.row < stream.rows.size() && batch.bytes < room && extents < max_extents) {
    const SubfileRequests& row = stream.rows[stream.row];
    SubfileExtents& section = batch.sections.emplace_back();
    const SubfileHandle& subfile = subfiles_[static_cast<size_t>(row.subfile)];
    section.handle = subfile.handle;
    if (batch.sections.size() == 1) batch.about = subfile.path;
    while (stream.block < row.blocks.size() && batch.bytes < room && extents < max_extents) {
      const Block& block = blocks_[row.blocks[stream.block]];
      const layout::Share all = stripes_.share(row.subfile, block.offset, block.length);
      const int64_t length = std::min(all.length - stream.done, room - batch.bytes);
      const layout::Share now = stripes_.subrange(row.subfile, all.offset + stream.done, length);
      for (const layout::Run& run : now.pieces())
        batch.runs.push_back({block.memory + (run.offset - block.offset), run.length, run.stride, run.count});
      if (!section.extents.empty() && section.extents.back().end() == now.offset) {
        section.extents.back().length += length;
      } else {
        section.extents.push_back({now.offset, length});
        ++extents;
      }
      batch.bytes += length;
      stream.done += length;
      if (stream.done < all.length) break;
      stream.done = 0;
      ++stream.block;
    }
    if (stream.block < row.blocks.size()) break;
    stream.block = 0;
    ++stream.row;
  }
  return batch;
}

}  // namespace sheaf::sfio
