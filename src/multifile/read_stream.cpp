#include "multifile/read_stream.hpp"

#include <algorithm>
#include <cstring>

namespace sheaf {

namespace {
constexpr uint32_t first_read_ahead = 8 << 10;
}

int64_t BlockSizes::total() const {
  int64_t sum = 0;
  for (int64_t b = 0; b < count; ++b) sum += (*this)[b];
  return sum;
}

void ReadStream::load(std::shared_ptr<File> file, const layout::ChunkGeometry& geometry, BlockSizes sizes, ReadPosition position) {
  file_ = std::move(file);
  geometry_ = geometry;
  sizes_ = sizes;
  move(position.block, position.offset);
}

void ReadStream::move(int64_t block, int64_t offset) {
  block_ = block;
  fetched_ = offset;
  ahead_ = 0;
  window_.at = window_.end = buffer_.get();
  if (handle_) handle_->move_to(geometry_.offset(block_) + offset);
}

StdioHandle& ReadStream::share(bool with_stream) {
  if (!handle_) attach(std::make_unique<StdioHandle>(file_->path(), false, with_stream));
  return *handle_;
}

void ReadStream::attach(std::unique_ptr<StdioHandle> handle) {
  const int64_t offset = position();
  handle_ = std::move(handle);
  move(block_, offset);
}

std::unique_ptr<StdioHandle> ReadStream::release_handle() {
  learn_from_handle();
  return std::move(handle_);
}

void ReadStream::forget_handle() {
  if (handle_) handle_->forget();
  handle_.reset();
}

void ReadStream::learn_from_handle() {
  if (!handle_) return;
  fetched_ = handle_->position() - geometry_.offset(block_);
  if (fetched_ < 0)
    throw Error(Code::out_of_range, "'" + file_->path() + "': the stream was moved in front of the current block");
}

int64_t ReadStream::bytes_read() {
  int64_t sum = position();
  for (int64_t b = 0; b < block_; ++b) sum += sizes_[b];
  return sum;
}

int64_t ReadStream::available_in_block() {
  return sizes_.count == 0 ? 0 : std::max<int64_t>(0, sizes_[block_] - position());
}

int64_t ReadStream::available(int64_t limit) {
  int64_t sum = available_in_block();
  for (int64_t b = block_ + 1; b < sizes_.count && sum < limit; ++b) sum += sizes_[b];
  return std::min(sum, limit);
}

bool ReadStream::at_end() {
  if (available_in_block() > 0) return false;
  if (block_ + 1 >= sizes_.count) return true;
  move(block_ + 1, 0);
  return false;
}

void ReadStream::settle() {
  if (available_in_block() == 0 && block_ + 1 < sizes_.count) move(block_ + 1, 0);
}

bool ReadStream::seek_block(int64_t block, int64_t offset) {
  if (block < 0 || block >= sizes_.count || offset < 0 || offset > sizes_[block]) return false;
  // Inside what has been read ahead: no need to read it again.
  const int64_t back = fetched_ - offset;
  if (!handle_ && block == block_ && back >= 0 && buffer_ && back <= window_.end - buffer_.get()) {
    window_.at = window_.end - back;
    return true;
  }
  move(block, offset);
  return true;
}

bool ReadStream::seek_absolute(int64_t offset) {
  if (offset < 0) return false;
  for (int64_t b = 0; b < sizes_.count; ++b) {
    if (offset <= sizes_[b]) return seek_block(b, offset);
    offset -= sizes_[b];
  }
  return false;
}

bool ReadStream::seek_from_end(int64_t offset) {
  if (offset > 0 || sizes_.count == 0) return false;
  if (offset == 0) return seek_block(sizes_.count - 1, sizes_[sizes_.count - 1]);
  return seek_absolute(sizes_.total() + offset);
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
      move(block_ + 1, 0);
      continue;
    }
    const auto want = static_cast<int64_t>(out.size() - done);
    // Nothing is left to read ahead when all of the block is wanted.
    if (handle_ || want >= left || want >= std::min<int64_t>(WriteStream::direct_bytes, max_buffer_)) {
      done += transfer(out.subspan(done, static_cast<size_t>(std::min(want, left))));
    } else {
      refill();
    }
  }
  return done;
}

// Straight into the caller's memory.
size_t ReadStream::transfer(std::span<std::byte> out) {
  const int64_t at = geometry_.offset(block_) + fetched_;
  size_t n;
  if (handle_ && handle_->second_stream()) {
    n = handle_->read(out);
  } else {
    n = file_->read_at(out, at);
    if (handle_) handle_->move_to(at + static_cast<int64_t>(n));
  }
  fetched_ += static_cast<int64_t>(n);
  window_.at = window_.end = buffer_.get();
  if (n < out.size())
    throw file_error(Code::damaged, file_->path(),
                     "the physical file ends at offset " + std::to_string(geometry_.offset(block_) + fetched_) +
                         ", inside block " + std::to_string(block_) + " of the task");
  return n;
}

void ReadStream::refill() {
  ahead_ = std::min(max_buffer_, ahead_ == 0 ? first_read_ahead : 2 * ahead_);
  const auto n = static_cast<uint32_t>(std::min<int64_t>(sizes_[block_] - fetched_, ahead_));
  if (capacity_ < n) {
    buffer_.reset();
    window_ = {};
    buffer_ = std::make_unique_for_overwrite<std::byte[]>(n);
    capacity_ = n;
  }
  transfer(std::span(buffer_.get(), n));
  window_.at = buffer_.get();
  window_.end = window_.at + n;
}

}  // namespace sheaf
