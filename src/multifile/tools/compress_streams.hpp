// multifile/tools/compress_streams: compresses existing streams into the chunks of a new file.
#pragma once

#include <memory>

#include "format/codec/frame_coder.hpp"
#include "multifile/create/packed_file.hpp"
#include "multifile/create/work_progress.hpp"
#include "multifile/metadata/physical_file.hpp"

namespace sheaf::multifile {

// Compresses the streams of consecutive tasks of `multifile` into `target`, beginning with task `first`. The
// files must be uncompressed, or `multifile` must be a plain view (plain_view()). `packed` must contain the
// header and extension of `target`; the header states the number of tasks.
//
// Verifies the checksums of each stream. Writes each stream as frames of one block (docs/format.md, section
// 14.4), from the next multiple of the block size of `target` on. Adds the stored lengths and checksums to
// `packed`. Starts as many threads as `how` specifies (codec::with_threads). Throws `damaged` and what the
// file throws. Holds a few frames, the frame table of one task, and the checksums in memory.
void compress_streams(const Multifile& multifile, int64_t first, const codec::Compression& how,
                      const std::shared_ptr<File>& target, PackedFile& packed, WorkProgress& progress);

}  // namespace sheaf::multifile
