#include "multifile/plain_file.hpp"

#include <algorithm>
#include <array>

namespace sheaf {

using format::Frame;
using format::frame_head_size;
using format::FrameHead;
using format::FrameTable;
using format::index_end_size;
using format::PlainPlace;

namespace {

constexpr int64_t stored_buffer = 4 << 10;  // whole frames are read past it

std::string place_of(const ReadStream& stored, const StoredTask& task, int64_t offset) {
  return "task " + std::to_string(task.task) + " of '" + stored.file().path() + "': at offset " + std::to_string(offset) +
         " of its stored bytes";
}

[[noreturn]] void damaged(const ReadStream& stored, const StoredTask& task, int64_t offset, const std::string& finding) {
  throw Error(Code::damaged, place_of(stored, task, offset) + " " + finding);
}

std::vector<int64_t> ends_of(const BlockSizes& sizes) {
  std::vector<int64_t> ends;
  for (int64_t b = 0; b < sizes.count; ++b) ends.push_back(sizes[b] + (ends.empty() ? 0 : ends.back()));
  return ends;
}

// To an offset in the stream: as seek_absolute(), but not past all blocks in front of it.
bool go_to(ReadStream& stored, const std::vector<int64_t>& ends, int64_t offset) {
  const auto block = std::ranges::upper_bound(ends, offset) - ends.begin();
  if (block == std::ssize(ends)) return stored.seek_absolute(offset);
  return stored.seek_block(block, offset - (block > 0 ? ends[static_cast<size_t>(block) - 1] : 0));
}

std::optional<FrameTable> read_index(ReadStream& stored, int64_t total) {
  std::array<std::byte, index_end_size> end;
  if (total < frame_head_size + index_end_size) return std::nullopt;
  if (!stored.seek_absolute(total - index_end_size) || stored.read(end) < end.size()) return std::nullopt;
  const auto begin = format::decode_index_end(end, total);
  if (!begin) return std::nullopt;
  std::vector<std::byte> bytes(static_cast<size_t>(total - *begin));
  if (!stored.seek_absolute(*begin) || stored.read(bytes) < bytes.size()) return std::nullopt;
  return FrameTable::decode_index(bytes, *begin);
}

bool is_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{}; });
}

}  // namespace

StoredFrames read_frames(ReadStream& stored, const StoredTask& task) {
  const int64_t total = stored.sizes().total();
  if (auto table = read_index(stored, total)) return {std::move(*table), true, total};
  StoredFrames found;
  const std::vector<int64_t> ends = ends_of(stored.sizes());
  int64_t& at = found.stored_bytes;
  while (at < total) {
    std::array<std::byte, frame_head_size> bytes{};
    go_to(stored, ends, at);
    const size_t there = stored.read(bytes);
    // Behind the end of what a program has written before it was killed there may be zeros, or nothing.
    const bool cut = there < bytes.size();
    if (task.unclosed && (cut || is_zero(bytes))) return found;
    const auto head = cut ? std::nullopt : format::decode_frame(bytes);
    if (!head) damaged(stored, task, at, "there is no frame");
    if (head->size() > total - at) {
      if (task.unclosed) return found;
      damaged(stored, task, at, "the frame of " + std::to_string(head->size()) + " bytes is cut off");
    }
    if (head->kind == FrameHead::Kind::data && !found.table.add(*head, at))
      damaged(stored, task, at, "the frame of offset " + std::to_string(head->at.offset) + " in block " +
                                    std::to_string(head->at.block) + " does not follow the one before");
    at += head->size();
  }
  return found;
}

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
    skip_ = fits ? tasks_[t].what.geometry.skip : must_fit(checked_add(skip_, chunks_[t]), "the uncompressed multifile");
  }
}

layout::ChunkGeometry PlainFile::geometry(size_t index) const { return {starts_[index], skip_, chunks_[index]}; }

BlockSizes PlainFile::sizes_of(size_t index) const {
  const std::vector<int64_t>& sizes = tasks_[index].sizes;
  return {sizes.data(), 1, static_cast<int32_t>(sizes.size())};
}

void PlainFile::choose(size_t index) {
  if (chosen_ == index) return;
  chosen_ = SIZE_MAX;
  load_(stored_, index);
  ends_ = ends_of(stored_.sizes());
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
  PlainPlace at{static_cast<int32_t>(std::min<int64_t>(round, INT32_MAX)), in_first - starts_[task]};
  const FrameTable& table = frames(task);
  if (at.block >= std::ssize(tasks_[task].sizes)) return 0;
  const int64_t there = tasks_[task].sizes[static_cast<size_t>(at.block)] - at.offset;
  const auto wanted = static_cast<size_t>(std::clamp<int64_t>(there, 0, std::ssize(data)));
  for (auto out = data.first(wanted); !out.empty();) {
    const size_t number = table.find(at);
    const Frame& frame = table.frames()[number];
    const auto begin = static_cast<size_t>(at.offset - frame.at.offset);
    const size_t n = std::min(out.size(), frame.used - begin);
    const bool kept = plain_task_ == task && plain_frame_ == number;
    if (n == frame.used && !kept) {
      fetch(task, frame, out.first(n));
    } else {
      std::ranges::copy(plain_of(task, number).subspan(begin, n), out.begin());
    }
    out = out.subspan(n);
    at.offset += static_cast<int64_t>(n);
  }
  return wanted;
}

// The first frame.used plain bytes of a frame.
void PlainFile::fetch(size_t index, const Frame& frame, std::span<std::byte> out) {
  choose(index);
  const StoredTask& what = tasks_[index].what;
  const std::span<std::byte> bytes = frame_.at_least(frame.size);
  go_to(stored_, ends_, frame.stored);
  if (stored_.read(bytes) < bytes.size()) damaged(stored_, what, frame.stored, "the frame is cut off");
  const auto head = format::decode_frame(bytes.first<frame_head_size>());
  if (!head || head->kind != FrameHead::Kind::data || head->size() != frame.size || head->plain < frame.used || head->at != frame.at)
    damaged(stored_, what, frame.stored, "there is not the frame that the index has");
  const auto where = place_of(stored_, what, frame.stored) + ", block " + std::to_string(head->at.block) + " offset " +
                     std::to_string(head->at.offset) + ": the frame";
  ++decoded_;
  if (head->plain == out.size()) {
    decoder_.decode(*head, bytes.subspan(frame_head_size), out, where);
    return;
  }
  std::vector<std::byte> whole(head->plain);
  decoder_.decode(*head, bytes.subspan(frame_head_size), whole, where);
  std::copy_n(whole.begin(), out.size(), out.begin());
}

std::span<const std::byte> PlainFile::plain_of(size_t index, size_t number) {
  if (plain_task_ != index || plain_frame_ != number) {
    plain_task_ = SIZE_MAX;
    const Frame& frame = frames(index).frames()[number];
    plain_.resize(frame.used);
    fetch(index, frame, plain_);
    plain_task_ = index;
    plain_frame_ = number;
  }
  return plain_;
}

void load_stream(ReadStream& stream, const format::Header& header, std::shared_ptr<File> file, const StoredTask& task,
                 BlockSizes sizes) {
  if (!header.compressed) return stream.load(std::move(file), task.geometry, sizes, {}, task.sums);
  const auto plain = std::make_shared<PlainFile>(
      file, std::vector{task}, [file, task, sizes](ReadStream& stored, size_t) { stored.load(file, task.geometry, sizes, {}, task.sums); });
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
