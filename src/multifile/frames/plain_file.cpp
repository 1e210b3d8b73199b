#include "multifile/frames/plain_file.hpp"

#include <algorithm>

#include "multifile/frames/constants.hpp"

namespace sheaf::multifile {

PlainFile::PlainFile(std::shared_ptr<File> file, std::vector<StoredTask> tasks, Load load)
    : file_(std::move(file)), load_(std::move(load)) {
  stored_.buffer().set_max(frame_constants::stored_buffer);
  bool fits = true;
  int64_t skip = 0;  // sum of chunk sizes enlarged to the largest blocks
  for (const StoredTask& what : tasks) {
    choose(tasks_.size());
    PlainTask& task = tasks_.emplace_back(PlainTask{what, read_frames(stored_, what), {}, what.geometry});
    task.sizes = task.frames.table.block_sizes();
    const int64_t chunk = std::max(what.geometry.size, std::ranges::max(task.sizes));
    fits &= chunk == what.geometry.size;
    task.geometry = {skip, 0, chunk};
    skip = must_fit(checked_add(skip, chunk), "the uncompressed multifile");
  }
  for (PlainTask& task : tasks_) {
    task.geometry.skip = skip;
    if (fits) task.geometry = task.what.geometry;
  }
}

void PlainFile::choose(size_t index) {
  if (chosen_ == index) return;
  chosen_ = SIZE_MAX;
  load_(stored_, index);
  places_ = StreamPlaces(stored_.sizes());
  chosen_ = index;
}

// Reads block by block, because a request may cover several adjacent blocks or tasks.
size_t PlainFile::read_at(std::span<std::byte> data, int64_t offset) {
  const std::lock_guard lock(mutex_);
  size_t done = 0;
  while (const size_t n = read_block(data.subspan(done), offset + static_cast<int64_t>(done))) done += n;
  return done;
}

// Reads bytes of the block at `offset`. Returns the number of bytes read, 0 if there is no block.
size_t PlainFile::read_block(std::span<std::byte> data, int64_t offset) {
  const layout::ChunkGeometry first = tasks_.empty() ? layout::ChunkGeometry{} : tasks_.front().geometry;
  if (first.skip == 0 || data.empty() || offset < first.start) return 0;
  const int64_t round = (offset - first.start) / first.skip;
  const int64_t in_first = offset - round * first.skip;
  const auto behind =
      std::ranges::upper_bound(tasks_, in_first, {}, [](const PlainTask& t) { return t.geometry.start; });
  const auto task = static_cast<size_t>(behind - tasks_.begin()) - 1;
  format::PlainPlace at{static_cast<int32_t>(std::min<int64_t>(round, INT32_MAX)),
                        in_first - geometry(task).start};
  const format::FrameTable& table = tasks_[task].frames.table;
  if (at.block >= std::ssize(tasks_[task].sizes)) return 0;
  const int64_t there = tasks_[task].sizes[static_cast<size_t>(at.block)] - at.offset;
  const auto wanted = static_cast<size_t>(std::clamp<int64_t>(there, 0, std::ssize(data)));
  for (auto out = data.first(wanted); !out.empty();) {
    const size_t number = table.find(at);
    const format::Frame& frame = table.frames()[number];
    const auto begin = static_cast<size_t>(at.offset - frame.at.offset);
    const size_t n = std::min(out.size(), frame.used - begin);
    copy_from_frame(task, number, begin, out.first(n));
    out = out.subspan(n);
    at.offset += static_cast<int64_t>(n);
  }
  return wanted;
}

// Copies uncompressed bytes of a frame, from byte `begin` on. Caches the frame unless the whole frame is
// requested.
void PlainFile::copy_from_frame(size_t index, size_t number, size_t begin, std::span<std::byte> out) {
  if (plain_task_ != index || plain_frame_ != number) {
    choose(index);
    const PlainTask& task = tasks_[index];
    const size_t bytes = frames_.read(stored_, places_, task.what, task.frames.table.frames()[number]).plain;
    ++decoded_;
    if (bytes == out.size()) return frames_.decode(out);
    plain_task_ = SIZE_MAX;
    plain_.resize(bytes);
    frames_.decode(plain_);
    plain_task_ = index;
    plain_frame_ = number;
  }
  std::ranges::copy(std::span(plain_).subspan(begin, out.size()), out.begin());
}

void load_stream(ReadStream& stream, const format::Header& header, std::shared_ptr<File> file,
                 const StoredTask& task, BlockSizes sizes) {
  if (!header.compressed) return stream.load(std::move(file), task.geometry, sizes, {}, task.sums);
  const auto plain =
      std::make_shared<PlainFile>(file, std::vector{task}, [file, task, sizes](ReadStream& stored, size_t) {
        stored.load(file, task.geometry, sizes, {}, task.sums);
      });
  stream.load(plain, plain->geometry(0), plain->sizes_of(0), {});
}

}  // namespace sheaf::multifile
