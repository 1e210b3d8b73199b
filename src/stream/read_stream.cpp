#include "stream/read_stream.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/crc32c.hpp"
#include "format/extension.hpp"
#include "stream/constants.hpp"
#include "stream/file_checks.hpp"

namespace sheaf {

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
  // Most blocks are full or have a piece: a division for each would take the most time of a jump over
  // thousands of them.
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
  window_.at = window_.end = buffer_.get();
  if (handle()) handle()->move_to(geometry_.offset(block_) + offset);
}

StdioHandle& ReadStream::share(bool with_stream) {
  if (!handle()) attach(std::make_unique<StdioHandle>(*file_, false, with_stream));
  return *handle();
}

void ReadStream::attach(std::unique_ptr<StdioHandle> handle) {
  const int64_t offset = position();
  shared_ = std::make_unique<Shared>();
  shared_->handle = std::move(handle);
  move(block_, offset);
}

std::unique_ptr<StdioHandle> ReadStream::release_handle() {
  learn_from_handle();
  const auto shared = std::move(shared_);
  return shared ? std::move(shared->handle) : nullptr;
}

void ReadStream::forget_handle() {
  if (handle()) handle()->forget();
  shared_.reset();
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

int64_t ReadStream::available_in_block() {
  return sizes_.count == 0 ? 0 : std::max<int64_t>(0, sizes_[block_] - position());
}

int64_t ReadStream::available(int64_t limit) {
  int64_t sum = available_in_block();
  for (int64_t b = sizes_.next_used(block_ + 1); b < sizes_.count && sum < limit; b = sizes_.next_used(b + 1))
    sum += sizes_[b];
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
  // A border between blocks is the begin of the later one.
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
    // Nothing is left to read ahead when all of the block is wanted.
    if (handle() || want >= left || want >= std::min<int64_t>(WriteStream::direct_bytes, max_buffer_)) {
      done += transfer(out.subspan(done, static_cast<size_t>(std::min(want, left))));
    } else {
      refill();
    }
  }
  return done;
}

// From the position on, in a part of the block that ends at `end` and has checksums: whole pieces into the
// caller's memory, or nothing, but then there is something in the window.
size_t ReadStream::fetch_checked(std::span<std::byte> out, int64_t end) {
  const int64_t rest = end - fetched_;
  const int64_t want = std::min(rest, std::ssize(out));
  const int64_t whole = fetched_ % piece() != 0 ? 0 : want == rest ? rest : want / piece() * piece();
  if (whole == 0) {
    refill_checked(end);
    return 0;
  }
  read_checked(fetched_, out.first(static_cast<size_t>(whole)));
  fetched_ += whole;
  window_.at = window_.end = buffer_.get();
  return static_cast<size_t>(whole);
}

// The same where the program shares the position: there is no window, but what the buffer holds is kept in
// mind.
size_t ReadStream::fetch_shared(std::span<std::byte> out, int64_t end) {
  const int64_t at = fetched_;
  Shared& s = *shared_;
  if (s.block != block_ || at < s.begin || at >= s.end) {
    s.block = -1;
    if (const size_t n = fetch_checked(out, end); n > 0) {
      handle()->move_to(geometry_.offset(block_) + fetched_);
      return n;
    }
    s = {std::move(s.handle), block_, fetched_ - (window_.end - buffer_.get()), fetched_};
    window_.at = window_.end = buffer_.get();
  }
  const auto n = std::min(out.size(), static_cast<size_t>(s.end - at));
  std::memcpy(out.data(), buffer_.get() + (at - s.begin), n);
  fetched_ = at + static_cast<int64_t>(n);
  handle()->move_to(geometry_.offset(block_) + fetched_);
  return n;
}

// Bytes of the block from a border of pieces on.
void ReadStream::read_checked(int64_t offset, std::span<std::byte> out) {
  const int64_t at_once = std::max<int64_t>(piece(), checked_at_once / piece() * piece());
  while (!out.empty()) {
    const int64_t at = geometry_.offset(block_) + offset;
    const auto part = out.first(std::min(out.size(), static_cast<size_t>(at_once)));
    const size_t n = file_->read_at(part, at);
    if (n < part.size()) ends_early(offset + static_cast<int64_t>(n), block_);
    check_pieces(*file_, sums_at(block_, offset), piece(), part, {local_rank_, block_, offset});
    offset += std::ssize(part);
    out = out.subspan(part.size());
  }
}

ReadPosition ReadStream::read_apart(ReadPosition from, std::span<std::byte> out) {
  std::vector<std::byte> edge;
  while (!out.empty()) {
    const int64_t size = sizes_[from.block];
    const auto part = out.first(static_cast<size_t>(std::min(size - from.offset, std::ssize(out))));
    size_t got = 0;
    if (from.offset < checked_size(from.block)) {
      got = read_apart_checked(from, part, edge);
    } else {
      got = file_->read_at(part, geometry_.offset(from.block) + from.offset);
      if (got < part.size()) ends_early(from.offset + static_cast<int64_t>(got), from.block);
    }
    out = out.subspan(got);
    from.offset += static_cast<int64_t>(got);
    if (from.offset == size && !out.empty()) from = {from.block + 1, 0};
  }
  return from;
}

// Whole pieces into the caller's memory; of a piece of which only a part is wanted, that part, by way of
// `edge`. Returns the bytes of `out` that are there then.
size_t ReadStream::read_apart_checked(ReadPosition from, std::span<std::byte> out,
                                      std::vector<std::byte>& edge) const {
  const int64_t end = checked_size(from.block);
  const int64_t skipped = from.offset % piece();
  const int64_t first = from.offset - skipped;
  const int64_t wanted = std::min(end - from.offset, std::ssize(out));
  const int64_t at_once = std::max<int64_t>(piece(), checked_at_once / piece() * piece());
  const int64_t whole = from.offset + wanted == end ? wanted : wanted / piece() * piece();
  std::span<std::byte> pieces = out.first(static_cast<size_t>(std::min(whole, at_once)));
  if (skipped > 0 || pieces.empty()) {
    edge.resize(static_cast<size_t>(std::min<int64_t>(end - first, piece())));
    pieces = edge;
  }
  const size_t n = file_->read_at(pieces, geometry_.offset(from.block) + first);
  if (n < pieces.size()) ends_early(first + static_cast<int64_t>(n), from.block);
  check_pieces(*file_, sums_at(from.block, first), piece(), pieces, {local_rank_, from.block, first});
  if (pieces.data() == out.data()) return n;
  const size_t got = std::min(static_cast<size_t>(wanted), n - static_cast<size_t>(skipped));
  std::memcpy(out.data(), pieces.data() + skipped, got);
  return got;
}

void ReadStream::ends_early(int64_t offset, int64_t block) const {
  throw file_error(Code::damaged, file_->path(),
                   "the physical file ends at offset " + std::to_string(geometry_.offset(block) + offset) +
                       ", inside block " + std::to_string(block) + " of the task");
}

// Straight into the caller's memory.
size_t ReadStream::transfer(std::span<std::byte> out) {
  const int64_t at = geometry_.offset(block_) + fetched_;
  size_t n;
  if (handle() && handle()->second_stream()) {
    n = handle()->read(out);
  } else {
    n = file_->read_at(out, at);
    if (handle()) handle()->move_to(at + static_cast<int64_t>(n));
  }
  fetched_ += static_cast<int64_t>(n);
  window_.at = window_.end = buffer_.get();
  if (n < out.size()) ends_early(fetched_, block_);
  return n;
}

uint32_t ReadStream::next_ahead() {
  const uint32_t bytes = first_read_ahead << ahead_;
  if (ahead_ < most_doublings) ++ahead_;
  return std::min(max_buffer_, bytes);
}

void ReadStream::make_room(int64_t bytes) {
  if (capacity_ >= bytes) return;
  buffer_.reset();
  window_ = {};
  buffer_ = line_memory(static_cast<size_t>(bytes));
  capacity_ = static_cast<uint32_t>(bytes);
}

void ReadStream::refill() {
  const auto n = std::min<int64_t>(sizes_[block_] - fetched_, next_ahead());
  make_room(n);
  transfer(std::span(buffer_.get(), static_cast<size_t>(n)));
  window_.at = buffer_.get();
  window_.end = window_.at + n;
}

void ReadStream::refill_checked(int64_t end) {
  const int64_t at = fetched_;
  const int64_t begin = at / piece() * piece();
  const int64_t n = std::min(end - begin, std::max<int64_t>(piece(), next_ahead() / piece() * piece()));
  make_room(n);
  window_.at = window_.end = buffer_.get();
  read_checked(begin, std::span(buffer_.get(), static_cast<size_t>(n)));
  window_.at = buffer_.get() + (at - begin);
  window_.end = buffer_.get() + n;
  fetched_ = begin + n;
}

}  // namespace sheaf
