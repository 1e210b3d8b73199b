// multifile/tools/compress_streams: compresses existing streams into the chunks of a new file.
#pragma once

#include <memory>

#include "format/codec/frame_coder.hpp"
#include "multifile/create/packed_file.hpp"
#include "multifile/create/work_progress.hpp"
#include "multifile/metadata/physical_file.hpp"

namespace sheaf {

// Compresses the streams of consecutive tasks of `multifile` into `target`, beginning with task `first`.
// Their files must be uncompressed or a plain view (plain_view()). `packed` contains the header and extension
// of `target`.
// Each stream is compared with its checksums. It is written as frames of one block (docs/format.md, section
// 14.4), from the next multiple of the block size of `target` on. The stored lengths and checksums are added
// to `packed`. Runs on threads of its own as `how` specifies. Throws damaged and what the file throws.
// Memory: a few frames, the frame table of one task, the checksums.
void compress_streams(const Multifile& multifile, int64_t first, const codec::Compression& how,
                      const std::shared_ptr<File>& target, PackedFile& packed, WorkProgress& progress);

}  // namespace sheaf
