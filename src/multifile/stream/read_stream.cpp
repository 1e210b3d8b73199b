#include "multifile/stream/read_stream.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/crc32c.hpp"
#include "format/extension.hpp"
#include "multifile/stream/constants.hpp"
#include "multifile/stream/file_checks.hpp"

namespace sheaf::multifile {

using namespace stream_constants;

void ReadStream::load(std::shared_ptr<File> file, const layout::ChunkGeometry& geometry, BlockSizes sizes,
                      ReadPosition position, SumsPlace sums) {
  file_ = std::move(file);
  geometry_ = geometry;
  sizes_ = sizes;
  block_ = 0;
  sums_at_ = sums.at;
  piece_pages_ = static_cast<uint16_t>(sums.piece / page);
  local_rank_ = sums.local_rank;
  if (shared_) shared_->block = -1;
  move(position.block, position.offset);
}

int64_t ReadStream::sums_at(int64_t block, int64_t offset) const {
  // Most blocks are full or have one piece. A division per block would dominate the time of a seek over
  // thousands of blocks.
  const int64_t full = 4 * format::sums_of_block(geometry_.size, geometry_.size, piece());
  const auto bytes_of = [&](int64_t b) {
    const int64_t size = sizes_[b];
    if (size >= geometry_.size) return full;
    return size <= piece() ? int64_t{size > 0} * 4 : 4 * format::sums_of_block(size, geometry_.size, piece());
  };
  int64_t at = sums_at_ + 4 * (offset / piece());
  for (int64_t b = sizes_.next_used(block_); b < block; b = sizes_.next_used(b + 1)) at += bytes_of(b);
  for (int64_t b = sizes_.next_used(block); b < block_; b = sizes_.next_used(b + 1)) at -= bytes_of(b);
  return at;
}

void ReadStream::move(int64_t block, int64_t offset) {
  if (piece_pages_ > 0) sums_at_ = sums_at(block, 0);
  block_ = static_cast<int32_t>(block);
  fetched_ = offset;
  ahead_ = 0;
  empty_window();
  if (handle()) handle()->move_to(geometry_.offset(block_) + offset);
}

void ReadStream::attach(std::unique_ptr<StdioHandle> handle) {
  const int64_t offset = position();
  shared_ = std::make_unique<SharedPosition>();
  shared_->handle = std::move(handle);
  move(block_, offset);
}

std::unique_ptr<StdioHandle> ReadStream::release_handle() {
  learn_from_handle();
  const auto shared = std::move(shared_);
  return shared ? std::move(shared->handle) : nullptr;
}

void ReadStream::learn_from_handle() {
  if (!handle()) return;
  fetched_ = handle()->position() - geometry_.offset(block_);
  if (fetched_ < 0)
    throw Error(Code::out_of_range,
                "'" + file_->path() + "': the stream was moved in front of the current block");
}

int64_t ReadStream::bytes_read() {
  int64_t sum = position();
  for (int64_t b = sizes_.next_used(0); b < block_; b = sizes_.next_used(b + 1)) sum += sizes_[b];
  return sum;
}

int64_t ReadStream::available(int64_t limit) {
  int64_t sum = available_in_block();
  for (int64_t b = sizes_.next_used(block_ + 1); b < sizes_.count && sum < limit; b = sizes_.next_used(b + 1))
    sum += sizes_[b];
  return std::min(sum, limit);
}

bool ReadStream::at_end() {
  if (block_ + 1 >= sizes_.count) return available_in_block() == 0;
  settle();
  return false;
}

bool ReadStream::seek_block(int64_t block, int64_t offset) {
  if (block < 0 || block >= sizes_.count || offset < 0 || offset > sizes_[block]) return false;
  // a position inside the window needs no new read
  const int64_t back = fetched_ - offset;
  if (!handle() && block == block_ && back >= 0 && buffer_ && back <= window_.end - buffer_.get()) {
    window_.at = window_.end - back;
    return true;
  }
  move(block, offset);
  return true;
}

bool ReadStream::seek_absolute(int64_t offset) {
  if (offset < 0) return false;
  if (offset == 0) return seek_block(0, 0);
  for (int64_t b = sizes_.next_used(0); b < sizes_.count; b = sizes_.next_used(b + 1)) {
    if (offset <= sizes_[b]) return seek_block(b, offset);
    offset -= sizes_[b];
  }
  return false;
}

bool ReadStream::seek_from_end(int64_t offset) {
  if (offset > 0 || sizes_.count == 0) return false;
  if (offset == 0) return seek_block(sizes_.count - 1, sizes_[sizes_.count - 1]);
  if (!seek_absolute(sizes_.total() + offset)) return false;
  // A position between two blocks becomes the start of the later block.
  while (position() == sizes_[block_] && block_ + 1 < sizes_.count) seek_block(block_ + 1, 0);
  return true;
}

size_t ReadStream::read(std::span<std::byte> out) {
  if (sizes_.count == 0) return 0;
  learn_from_handle();
  const ReadPosition begin{block_, fetched_ - waiting()};
  try {
    return fetch(out);
  } catch (...) {
    move(begin.block, begin.offset);
    throw;
  }
}

size_t ReadStream::fetch(std::span<std::byte> out) {
  size_t done = 0;
  while (done < out.size()) {
    if (waiting() > 0) {
      const auto n = std::min(out.size() - done, static_cast<size_t>(waiting()));
      std::memcpy(out.data() + done, window_.at, n);
      window_.at += n;
      done += n;
      continue;
    }
    const int64_t left = sizes_[block_] - fetched_;
    if (left <= 0) {
      if (block_ + 1 >= sizes_.count) break;
      move(std::min<int64_t>(sizes_.next_used(block_ + 1), sizes_.count - 1), 0);
      continue;
    }
    const auto want = static_cast<int64_t>(out.size() - done);
    if (const int64_t end = checked_size(block_);
        fetched_ < end && !(handle() && handle()->second_stream())) {
      done += (handle() ? fetch_shared(out.subspan(done), end) : fetch_checked(out.subspan(done), end));
      continue;
    }
    // Nothing can be read ahead if the whole rest of the block is requested.
    if (handle() || want >= left || want >= std::min<int64_t>(WriteStream::direct_bytes, max_buffer_)) {
      done += transfer(out.subspan(done, static_cast<size_t>(std::min(want, left))));
    } else {
      refill(sizes_[block_], 1);
    }
  }
  return done;
}

// Reads from the position, in the part of the block that has checksums and ends at `end`. If whole pieces are
// requested, reads them into `out` and returns their size. Otherwise fills the window and returns 0.
size_t ReadStream::fetch_checked(std::span<std::byte> out, int64_t end) {
  const auto whole = static_cast<size_t>(whole_pieces(fetched_, std::ssize(out), end));
  if (whole > 0) {
    read_checked({block_, fetched_}, out.first(whole));
    fetched_ += static_cast<int64_t>(whole);
    empty_window();
  } else {
    refill(end, piece());
  }
  return whole;
}

// Does the work of fetch_checked() while the program shares the position. Uses no window, but remembers which
// part of the block in the buffer is verified.
size_t ReadStream::fetch_shared(std::span<std::byte> out, int64_t end) {
  const int64_t at = fetched_;
  SharedPosition& s = *shared_;
  if (s.block != block_ || at < s.begin || at >= s.end) {
    s.block = -1;
    if (const size_t n = fetch_checked(out, end); n > 0) {
      handle()->move_to(geometry_.offset(block_) + fetched_);
      return n;
    }
    s = {std::move(s.handle), block_, fetched_ - (window_.end - buffer_.get()), fetched_};
    empty_window();
  }
  const auto n = std::min(out.size(), static_cast<size_t>(s.end - at));
  std::memcpy(out.data(), buffer_.get() + (at - s.begin), n);
  fetched_ = at + static_cast<int64_t>(n);
  handle()->move_to(geometry_.offset(block_) + fetched_);
  return n;
}

// Reads whole pieces of a block and compares them with their checksums.
void ReadStream::read_checked(ReadPosition from, std::span<std::byte> out) const {
  const int64_t at_once = std::max<int64_t>(piece(), checked_at_once / piece() * piece());
  while (!out.empty()) {
    const auto part = out.first(std::min(out.size(), static_cast<size_t>(at_once)));
    read_plain(from, part);
    check_pieces(*file_, sums_at(from.block, from.offset), piece(), part,
                 {local_rank_, from.block, from.offset});
    from.offset += std::ssize(part);
    out = out.subspan(part.size());
  }
}

ReadPosition ReadStream::read_apart(ReadPosition from, std::span<std::byte> out) {
  std::vector<std::byte> edge;
  while (!out.empty()) {
    const int64_t size = sizes_[from.block];
    const int64_t checked = checked_size(from.block);
    const int64_t end = from.offset < checked ? checked : size;
    auto part = out.first(static_cast<size_t>(std::min(end - from.offset, std::ssize(out))));
    if (from.offset >= checked) {
      read_plain(from, part);
    } else if (const int64_t whole = whole_pieces(from.offset, std::ssize(part), end); whole > 0) {
      part = part.first(static_cast<size_t>(whole));
      read_checked(from, part);
    } else {  // only a part of a piece is requested
      const int64_t skipped = from.offset % piece();
      const ReadPosition begin{from.block, from.offset - skipped};
      edge.resize(static_cast<size_t>(std::min<int64_t>(end - begin.offset, piece())));
      read_checked(begin, edge);
      part = part.first(std::min(part.size(), edge.size() - static_cast<size_t>(skipped)));
      std::memcpy(part.data(), edge.data() + skipped, part.size());
    }
    out = out.subspan(part.size());
    from.offset += std::ssize(part);
    if (from.offset == size && !out.empty()) from = {from.block + 1, 0};
  }
  return from;
}

void ReadStream::ends_early(ReadPosition at) const {
  if (Watch* const watch = file_->traits().watch) watch->require_unchanged();
  throw file_error(Code::damaged, file_->path(),
                   "the physical file ends at offset " +
                       std::to_string(geometry_.offset(at.block) + at.offset) + ", inside block " +
                       std::to_string(at.block) + " of the task");
}

// Reads directly into the caller's memory.
size_t ReadStream::transfer(std::span<std::byte> out) {
  const int64_t at = geometry_.offset(block_) + fetched_;
  const bool second = handle() && handle()->second_stream();
  const size_t n = second ? handle()->read(out) : file_->read_at(out, at);
  if (handle() && !second) handle()->move_to(at + static_cast<int64_t>(n));
  fetched_ += static_cast<int64_t>(n);
  empty_window();
  if (n < out.size()) ends_early({block_, fetched_});
  return n;
}

uint32_t ReadStream::next_ahead() {
  const uint32_t bytes = first_read_ahead << ahead_;
  if (ahead_ < max_doublings) ++ahead_;
  return std::min(max_buffer_, bytes);
}

// Reads ahead in the part of the block that ends at `end`. If `unit` > 1, reads whole pieces of `unit` bytes
// and compares them with their checksums.
void ReadStream::refill(int64_t end, uint32_t unit) {
  const ReadPosition begin{block_, fetched_ / unit * unit};
  const int64_t n = std::min<int64_t>(end - begin.offset, std::max(unit, next_ahead() / unit * unit));
  if (capacity_ < n) {
    buffer_.reset();
    window_ = {};
    buffer_ = line_memory(static_cast<size_t>(n));
    capacity_ = static_cast<uint32_t>(n);
  }
  empty_window();
  const std::span memory(buffer_.get(), static_cast<size_t>(n));
  if (unit > 1) {
    read_checked(begin, memory);
  } else {
    read_plain(begin, memory);
  }
  window_.at = buffer_.get() + (fetched_ - begin.offset);
  window_.end = buffer_.get() + n;
  fetched_ = begin.offset + n;
}

}  // namespace sheaf::multifile
