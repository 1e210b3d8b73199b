#include "multifile/stream/read_stream.hpp"

#include <algorithm>
#include <cstring>

#include "multifile/stream/constants.hpp"

namespace sheaf::multifile {

void ReadStream::load(std::shared_ptr<File> file, const layout::ChunkGeometry& geometry, BlockSizes sizes,
                      StreamPosition position, SumsPlace sums) {
  blocks_ = BlockReader(std::move(file), geometry, sizes, sums);
  sums_.reset();
  if (shared_) shared_->block = -1;
  move(position);
}

void ReadStream::move(StreamPosition to) {
  blocks_.move_to(to.block);
  fetched_ = to.offset;
  ahead_ = 0;
  buffer_.clear();
  move_handle();
}

void ReadStream::attach(std::unique_ptr<StdioHandle> handle) {
  const StreamPosition at = position();
  shared_ = std::make_unique<SharedPosition>();
  shared_->handle = std::move(handle);
  move(at);
}

std::unique_ptr<StdioHandle> ReadStream::release_handle() {
  learn_from_handle();
  const auto shared = std::move(shared_);
  return shared ? std::move(shared->handle) : nullptr;
}

void ReadStream::learn_from_handle() {
  if (!handle()) return;
  fetched_ = handle()->position() - blocks_.offset({blocks_.block(), 0});
  if (fetched_ < 0)
    throw Error(Code::out_of_range,
                "'" + blocks_.file().path() + "': the stream was moved in front of the current block");
}

int64_t ReadStream::bytes_read() {
  const StreamPosition at = position();
  int64_t sum = at.offset;
  for (const auto [block, bytes] : sizes().used(0, at.block)) sum += bytes;
  return sum;
}

int64_t ReadStream::available(int64_t limit) {
  int64_t sum = available_in_block();
  if (sum >= limit) return limit;
  for (const auto [block, bytes] : sizes().used(blocks_.block() + 1))
    if ((sum += bytes) >= limit) return limit;
  return sum;
}

bool ReadStream::at_end() {
  if (blocks_.block() + 1 >= sizes().count) return available_in_block() == 0;
  settle();
  return false;
}

bool ReadStream::seek_block(int64_t block, int64_t offset) {
  if (block < 0 || block >= sizes().count || offset < 0 || offset > sizes()[block]) return false;
  // a position inside the buffer needs no new read
  const int64_t back = fetched_ - offset;
  if (!handle() && block == blocks_.block() && back >= 0 && back <= buffer_.size()) {
    buffer_.return_to(back);
    return true;
  }
  move({block, offset});
  return true;
}

bool ReadStream::seek_absolute(int64_t offset) {
  if (offset < 0) return false;
  if (offset == 0) return seek_block(0, 0);
  for (const auto [block, bytes] : sizes().used()) {
    if (offset <= bytes) return seek_block(block, offset);
    offset -= bytes;
  }
  return false;
}

bool ReadStream::seek_from_end(int64_t offset) {
  const BlockSizes& sizes = blocks_.sizes();
  if (offset > 0 || sizes.count == 0) return false;
  if (offset == 0) return seek_block(sizes.count - 1, sizes[sizes.count - 1]);
  if (!seek_absolute(sizes.total() + offset)) return false;
  // A position between two blocks becomes the start of the later block.
  while (available_in_block() == 0 && blocks_.block() + 1 < sizes.count) seek_block(blocks_.block() + 1, 0);
  return true;
}

size_t ReadStream::read(std::span<std::byte> out) {
  if (sizes().count == 0) return 0;
  const StreamPosition begin = position();
  try {
    return fetch(out);
  } catch (...) {
    sums_.reset();  // the program may repair the file and read again
    move(begin);
    throw;
  }
}

size_t ReadStream::fetch(std::span<std::byte> out) {
  size_t done = 0;
  while (done < out.size()) {
    const auto rest = out.subspan(done);
    if (buffer_.left() > 0) {
      done += buffer_.take(rest);
      continue;
    }
    const int64_t block = blocks_.block();
    const int64_t left = sizes()[block] - fetched_;
    if (left <= 0) {
      if (block + 1 >= sizes().count) break;
      move({std::min<int64_t>(sizes().next_used(block + 1), sizes().count - 1), 0});
      continue;
    }
    if (const int64_t end = blocks_.checked_size(block);
        fetched_ < end && !(handle() && handle()->second_stream())) {
      done += handle() ? fetch_shared(rest, end) : fetch_checked(rest, end);
      continue;
    }
    // Nothing can be read ahead if the whole rest of the block is requested.
    const int64_t want = std::min(std::ssize(rest), left);
    if (handle() || want == left || want >= std::min(WriteStream::direct_bytes, buffer_.max())) {
      transfer(rest.first(static_cast<size_t>(want)));
      done += static_cast<size_t>(want);
    } else {
      refill(sizes()[block], 1);
    }
  }
  return done;
}

// Reads from the position, in the part of the block that has checksums and ends at `end`. If whole pieces are
// requested, reads them into `out` and returns their size. Otherwise fills the buffer and returns 0.
size_t ReadStream::fetch_checked(std::span<std::byte> out, int64_t end) {
  const int64_t whole = blocks_.whole_pieces(fetched_, std::ssize(out), end);
  if (whole > 0) {
    read_checked({blocks_.block(), fetched_}, out.first(static_cast<size_t>(whole)), end);
    fetched_ += whole;
    buffer_.clear();
  } else {
    refill(end, blocks_.piece());
  }
  return static_cast<size_t>(whole);
}

// Reads whole pieces of a block in the part that has checksums and ends at `end`. Keeps checksums that were
// read ahead, unless nothing follows.
void ReadStream::read_checked(StreamPosition from, std::span<std::byte> out, int64_t end) {
  SumsAhead unkept;
  const bool is_last = from.offset + std::ssize(out) >= end;
  if (!sums_ && !is_last) sums_ = std::make_unique<SumsAhead>();
  blocks_.read_checked(from, out, sums_ ? *sums_ : unkept);
}

// Does the work of fetch_checked() while the program shares the position. Leaves no bytes ahead, but
// remembers which part of the block in the buffer is verified.
size_t ReadStream::fetch_shared(std::span<std::byte> out, int64_t end) {
  const int64_t at = fetched_;
  const int64_t block = blocks_.block();
  SharedPosition& s = *shared_;
  if (s.block != block || at < s.begin || at >= s.end) {
    s.block = -1;
    if (const size_t n = fetch_checked(out, end); n > 0) {
      move_handle();
      return n;
    }
    s = {std::move(s.handle), block, fetched_ - buffer_.size(), fetched_};
    buffer_.clear();
  }
  const int64_t n = std::min(std::ssize(out), s.end - at);
  std::memcpy(out.data(), buffer_.data() + (at - s.begin), static_cast<size_t>(n));
  fetched_ = at + n;
  move_handle();
  return static_cast<size_t>(n);
}

// Reads directly into the caller's memory.
void ReadStream::transfer(std::span<std::byte> out) {
  const StreamPosition at{blocks_.block(), fetched_};
  const bool second = handle() && handle()->second_stream();
  const size_t n = second ? handle()->read(out) : out.size();
  if (!second) blocks_.read_plain(at, out);
  fetched_ += static_cast<int64_t>(n);
  buffer_.clear();
  if (n < out.size()) blocks_.ends_early({at.block, fetched_});
  if (!second) move_handle();
}

// Reads ahead in the part of the block that ends at `end`. If `unit` > 1, reads whole pieces of `unit` bytes
// and compares them with their checksums.
void ReadStream::refill(int64_t end, uint32_t unit) {
  const auto next =
      static_cast<uint32_t>(std::min<int64_t>(buffer_.max(), stream_constants::first_read_ahead << ahead_));
  if (ahead_ < stream_constants::max_doublings) ++ahead_;
  const StreamPosition begin{blocks_.block(), fetched_ / unit * unit};
  const int64_t n = std::min<int64_t>(end - begin.offset, std::max(unit, next / unit * unit));
  const auto memory = buffer_.make_room(static_cast<size_t>(n));
  if (unit > 1) {
    read_checked(begin, memory, end);
  } else {
    blocks_.read_plain(begin, memory);
  }
  buffer_.open(memory, fetched_ - begin.offset);
  fetched_ = begin.offset + n;
}

}  // namespace sheaf::multifile
