#include "streams/container/sums/block_sums.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/crc32c.hpp"
#include "comm/agree.hpp"
#include "format/fields.hpp"

namespace sheaf::streams {

using namespace sums_constants;
using format::summed_block;

namespace {

void read_zeros_behind(File& file, std::span<std::byte> data, int64_t place) {
  const size_t got = file.read_at(data, place);
  std::memset(data.data() + got, 0, data.size() - got);
}

// Performs one read request and verifies the blocks that it touches.
class CheckedRead {
 public:
  CheckedRead(File& file, const BlockSums& sums, std::span<std::byte> data, int64_t place,
              CheckedBlocks& checked)
      : file_(file), sums_(sums), data_(data), place_(place), checked_(checked) {}

  void run() {
    read_zeros_behind(file_, data_, place_);
    check_blocks(sums_.block_at(place_), sums_.block_at(end() - 1));
  }

 private:
  int64_t end() const { return place_ + std::ssize(data_); }

  void check_blocks(int64_t first, int64_t last) {
    while (first <= last && is_known(first)) ++first;
    while (first <= last && is_known(last)) --last;
    if (first > last) return;
    std::array<uint64_t, words_at_once> words{};
    const int64_t from = std::max(first, sums_.first);
    const int64_t to = std::min(last + 1, sums_.first + sums_.slots);
    if (from < to)
      read_words(file_, sums_.slot_of(from),
                 std::span(words).subspan(static_cast<size_t>(from - first), static_cast<size_t>(to - from)));
    uint64_t end_word = 0;
    if (sums_.end_at != 0) read_words(file_, sums_.end_at, {&end_word, 1});
    for (int64_t block = first; block <= last; ++block)
      check(block, choose_sum(sums_, block, words[static_cast<size_t>(block - first)], end_word).sum);
  }

  bool is_known(int64_t block) const {
    const int64_t place = sums_.place_of(block);
    return checked_.has(place, std::min(end() - place, summed_block));
  }

  void check(int64_t block, format::BlockSum expected) {
    const int64_t place = sums_.place_of(block);
    const bool is_in_data = place >= place_ && place + expected.bytes <= end();
    if (expected.bytes == 0 || checked_.has(place, expected.bytes)) return;
    if (is_in_data && sum_of(data_.subspan(static_cast<size_t>(place - place_)), expected) == expected.sum)
      return checked_.add(place, expected.bytes);
    Backoff backoff(reread_backoff);
    for (int attempts = is_in_data ? 0 : -1; attempts < checked_.rereads(); ++attempts) {
      if (attempts >= 0) {
        backoff.wait();
        attempt([&] { file_.revalidate(); });
        expected = read_sum(file_, sums_, block);
      }
      if (matches_again(place, expected)) return;
    }
    throw SumMismatch(file_.path(), place, expected.bytes);
  }

  static uint32_t sum_of(std::span<const std::byte> bytes, const format::BlockSum& expected) {
    return crc32c(0, bytes.first(static_cast<size_t>(expected.bytes)));
  }

  // Reads a block again and returns whether it matches `expected`. Copies the bytes to the caller's buffer.
  bool matches_again(int64_t place, const format::BlockSum& expected) {
    block_.resize(static_cast<size_t>(summed_block));
    read_zeros_behind(file_, block_, place);
    const bool is_right = expected.bytes == 0 || sum_of(block_, expected) == expected.sum;
    const int64_t from = std::max(place, place_), to = std::min(place + summed_block, end());
    std::memcpy(data_.data() + (from - place_), block_.data() + (from - place),
                static_cast<size_t>(to - from));
    if (is_right && expected.bytes > 0) checked_.add(place, expected.bytes);
    return is_right;
  }

  File& file_;
  const BlockSums& sums_;
  const std::span<std::byte> data_;
  const int64_t place_;
  CheckedBlocks& checked_;
  std::vector<std::byte> block_;
};

}  // namespace

FoundSum choose_sum(const BlockSums& sums, int64_t block, uint64_t slot, uint64_t end) {
  const int64_t slot_at = sums.slot_of(block);
  if (slot_at != 0)
    if (const auto found = format::sum_of_word(slot, block)) return {slot_at, false, *found};
  if (sums.end_at != 0)
    if (const auto found = format::sum_of_word(end, block)) return {sums.end_at, true, *found};
  return {slot_at, false, {}};
}

SumMismatch::SumMismatch(const std::string& container, int64_t at, int64_t count)
    : Error(file_error(Code::damaged, container,
                       "the " + std::to_string(count) + " bytes at byte " + std::to_string(at) +
                           " do not match their checksum")),
      path(container),
      place(at),
      bytes(count) {}

void SumMismatch::refuse(std::string_view name, int64_t offset) const {
  throw file_error(Code::damaged, path,
                   "the " + std::to_string(bytes) + " bytes from offset " + std::to_string(offset) +
                       " on of '" + std::string(name) + "' do not match their checksum");
}

format::BlockSum read_sum(File& file, const BlockSums& sums, int64_t block) {
  uint64_t slot = 0, end = 0;
  if (sums.end_at != 0) read_words(file, sums.end_at, {&end, 1});
  if (const int64_t at = sums.slot_of(block)) read_words(file, at, {&slot, 1});
  return choose_sum(sums, block, slot, end).sum;
}

void read_words(File& file, int64_t at, std::span<uint64_t> words) {
  const auto bytes = std::as_writable_bytes(words);
  read_zeros_behind(file, bytes, at);
  for (uint64_t& word : words) word = format::get_little<uint64_t>(reinterpret_cast<std::byte*>(&word));
}

void read_checked(File& file, const BlockSums& sums, std::span<std::byte> data, int64_t place,
                  CheckedBlocks& checked) {
  if (data.empty()) return;
  if (sums.room == 0) return read_zeros_behind(file, data, place);
  while (!data.empty()) {
    // Parts end at block boundaries, because a block in two parts would be read twice.
    const int64_t most = summed_at_a_time - (place - sums.room) % summed_block;
    const auto part = data.first(static_cast<size_t>(std::min(std::ssize(data), most)));
    CheckedRead(file, sums, part, place, checked).run();
    data = data.subspan(part.size());
    place += std::ssize(part);
  }
}

}  // namespace sheaf::streams
