#include "stream/plain_file.hpp"

#include <algorithm>

#include "stream/constants.hpp"

namespace sheaf {

using namespace stream_constants;

PlainFile::PlainFile(std::shared_ptr<File> file, std::vector<StoredTask> tasks, Load load)
    : file_(std::move(file)), load_(std::move(load)) {
  stored_.set_max_buffer(stored_buffer);
  for (const StoredTask& what : tasks) {
    choose(tasks_.size());
    Task task{what, read_frames(stored_, what), {}};
    task.sizes = task.frames.table.block_sizes();
    tasks_.push_back(std::move(task));
  }
  lay_out();
}

void PlainFile::lay_out() {
  bool fits = true;
  for (const Task& task : tasks_) {
    const int64_t largest = *std::ranges::max_element(task.sizes);
    fits &= largest <= task.what.geometry.size;
    chunks_.push_back(std::max(task.what.geometry.size, largest));
  }
  for (size_t t = 0; t < tasks_.size(); ++t) {
    starts_.push_back(fits ? tasks_[t].what.geometry.start : skip_);
    skip_ = fits ? tasks_[t].what.geometry.skip
                 : must_fit(checked_add(skip_, chunks_[t]), "the uncompressed multifile");
  }
}

layout::ChunkGeometry PlainFile::geometry(size_t index) const {
  return {starts_[index], skip_, chunks_[index]};
}

BlockSizes PlainFile::sizes_of(size_t index) const {
  const std::vector<int64_t>& sizes = tasks_[index].sizes;
  return {sizes.data(), static_cast<int32_t>(sizes.size())};
}

void PlainFile::choose(size_t index) {
  if (chosen_ == index) return;
  chosen_ = SIZE_MAX;
  load_(stored_, index);
  places_ = StreamPlaces(stored_.sizes());
  chosen_ = index;
}

// Ranges of neighbours, blocks or tasks, may come as one.
size_t PlainFile::read_at(std::span<std::byte> data, int64_t offset) {
  const std::lock_guard lock(mutex_);
  size_t done = 0;
  while (const size_t n = read_block(data.subspan(done), offset + static_cast<int64_t>(done))) done += n;
  return done;
}

// As far as one block goes.
size_t PlainFile::read_block(std::span<std::byte> data, int64_t offset) {
  if (skip_ == 0 || data.empty() || offset < starts_.front()) return 0;
  const int64_t round = (offset - starts_.front()) / skip_;
  const int64_t in_first = offset - round * skip_;
  const auto task = static_cast<size_t>(std::ranges::upper_bound(starts_, in_first) - starts_.begin()) - 1;
  format::PlainPlace at{static_cast<int32_t>(std::min<int64_t>(round, INT32_MAX)), in_first - starts_[task]};
  const format::FrameTable& table = frames(task);
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

// Plain bytes of a frame, from its `begin`-th on. A frame of which something else may be wanted is kept.
void PlainFile::copy_from_frame(size_t index, size_t number, size_t begin, std::span<std::byte> out) {
  if (plain_task_ != index || plain_frame_ != number) {
    choose(index);
    const size_t bytes =
        frames_.read(stored_, places_, tasks_[index].what, frames(index).frames()[number]).plain;
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

FileStatus PlainFile::status() {
  FileStatus status = file_->status();
  status.size = INT64_MAX;
  return status;
}

void PlainFile::read_only() const { throw file_error(Code::wrong_mode, path(), "is open for reading"); }
void PlainFile::write_at(std::span<const std::byte>, int64_t) { read_only(); }
void PlainFile::resize(int64_t) { read_only(); }

}  // namespace sheaf
