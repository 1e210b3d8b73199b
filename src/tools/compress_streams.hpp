// tools/compress_streams: streams that exist already, compressed into the chunks of a new file.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "codec/frame_coder.hpp"
#include "creation/work_progress.hpp"
#include "metadata/physical_file.hpp"

namespace sheaf {

// What a file holds, by task: stored bytes, and the checksums of each `piece` of them.
struct StoredStreams {
  std::vector<int64_t> lengths;
  std::vector<std::vector<uint32_t>> sums;
};

// Reads the streams of all tasks of `multifile`, whose files are not compressed or shown as a plain view,
// compares them with their checksums, and brings them as frames of one block (docs/format.md, section 14.4)
// to `target`: one after the other, each from the next multiple of `block_size` on, the first from `start`.
// piece 0: no checksums. On threads of its own as `how` says. Throws damaged and what the file throws.
// Memory: a few frames, the frame table of one task, the checksums.
StoredStreams compress_streams(const Multifile& multifile, const codec::Compression& how,
                               const std::shared_ptr<File>& target, int64_t start, int32_t block_size,
                               uint32_t piece, WorkProgress& progress);

}  // namespace sheaf
