#include "multifile/tools/compress_streams.hpp"

#include <algorithm>

#include "layout/chunk_layout.hpp"
#include "multifile/frames/compressed_writer.hpp"
#include "multifile/metadata/task_rows.hpp"
#include "multifile/tools/constants.hpp"

namespace sheaf::multifile {

void compress_streams(const Multifile& m, int64_t first, const codec::Compression& how,
                      const std::shared_ptr<File>& target, PackedFile& packed, WorkProgress& progress) {
  const uint32_t piece = packed.piece();
  int64_t start = layout::data_start(packed.header.ntasks, packed.header.fsblksize);
  WriteStream stored;
  stored.bind(target, tools::compressed_buffer);
  CompressedWriter frames(stored, codec::with_threads(how, 1), target->path());
  std::vector<std::byte> buffer(static_cast<size_t>(std::min(tools::read_to_compress, m.data_bytes() + 1)));
  for_each_row(m, first, first + packed.header.ntasks, [&](int64_t task, const TaskRow& row) {
    const int64_t t = task - first;
    ReadStream plain;
    plain.load(m.file_of(row).file, row.geometry, row.sizes, {}, row.sums);
    // The size of a compressed stream is known only after its last byte has been compressed. So the chunk has
    // an unlimited size while it is written.
    const layout::ChunkGeometry chunk{start, tools::endless_chunk, tools::endless_chunk};
    stored.load(chunk, TaskBlocks::with_sums(piece), t);
    frames.load({}, t, chunk);
    for (size_t got = buffer.size(); got == buffer.size();) {
      got = plain.read(buffer);
      frames.stream().write(std::span(buffer).first(got));
      progress.advance(static_cast<int64_t>(got));
    }
    frames.finish();
    frames.park();
    TaskBlocks blocks = stored.park();
    packed.lengths.push_back(blocks.total());
    packed.sums.push_back(piece > 0 ? blocks.take_sums(*target, chunk) : std::vector<uint32_t>{});
    start = must_fit(checked_add(start, layout::aligned_chunk(blocks.total(), packed.header.fsblksize)),
                     "the multifile");
  });
}

}  // namespace sheaf::multifile
