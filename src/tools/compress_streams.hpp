// tools/compress_streams: streams that exist already, compressed into the chunks of a new file.
#pragma once

#include <memory>

#include "codec/frame_coder.hpp"
#include "creation/packed_file.hpp"
#include "creation/work_progress.hpp"
#include "metadata/physical_file.hpp"

namespace sheaf {

// Reads the streams of consecutive tasks of `multifile`, from `first` on, whose files are not compressed or
// shown as a plain view, compares them with their checksums, and brings them as frames of one block
// (docs/format.md, section 14.4) to `target`, whose header and extension are in `packed`: one after the
// other, each from the next multiple of its block size on. Adds their stored lengths and checksums to
// `packed`. On threads of its own as `how` says. Throws damaged and what the file throws. Memory: a few
// frames, the frame table of one task, the checksums.
void compress_streams(const Multifile& multifile, int64_t first, const codec::Compression& how,
                      const std::shared_ptr<File>& target, PackedFile& packed, WorkProgress& progress);

}  // namespace sheaf
