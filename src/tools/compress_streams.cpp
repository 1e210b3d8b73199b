#include "tools/compress_streams.hpp"

#include <algorithm>

#include "layout/chunk_layout.hpp"
#include "metadata/task_rows.hpp"
#include "stream/compressed_writer.hpp"
#include "tools/constants.hpp"

namespace sheaf {

namespace {

void copy(ReadStream& from, WriteStream& to, std::span<std::byte> buffer, WorkProgress& progress) {
  for (size_t got = buffer.size(); got == buffer.size();) {
    got = from.read(buffer);
    to.write(buffer.first(got));
    progress.advance(static_cast<int64_t>(got));
  }
}

}  // namespace

StoredStreams compress_streams(const Multifile& m, const codec::Compression& how,
                               const std::shared_ptr<File>& target, int64_t start, int32_t block_size,
                               uint32_t piece, WorkProgress& progress) {
  WriteStream stored;
  stored.bind(target, tools::compressed_buffer);
  CompressedWriter frames(stored, codec::with_threads(how, 1), target->path());
  std::vector<std::byte> buffer(static_cast<size_t>(std::min(tools::read_to_compress, m.data_bytes() + 1)));
  StoredStreams result;
  TaskRows rows(m);
  for (int64_t t = 0; t < m.ntasks(); ++t) {
    const TaskRow& row = rows.at(t);
    ReadStream plain;
    plain.load(m.file_of(row).file, row.geometry, row.sizes, {}, row.sums);
    // How long the chunk becomes is known when all of it is there; until then it has no end.
    const layout::ChunkGeometry chunk{start, tools::endless_chunk, tools::endless_chunk};
    stored.load(chunk, TaskBlocks::with_sums(piece), t);
    frames.load({}, t, chunk);
    copy(plain, frames.stream(), buffer, progress);
    frames.finish();
    frames.park();
    TaskBlocks blocks = stored.park();
    result.lengths.push_back(blocks.total());
    result.sums.push_back(piece > 0 ? blocks.take_sums(*target, chunk) : std::vector<uint32_t>{});
    const auto end = checked_add(start, layout::aligned_chunk(blocks.total(), block_size));
    start = must_fit(end, "the multifile");
  }
  return result;
}

}  // namespace sheaf
