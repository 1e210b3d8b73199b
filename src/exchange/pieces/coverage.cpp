#include "exchange/pieces/coverage.hpp"

#include <algorithm>
#include <bit>

#include "base/assert.hpp"
#include "layout/each_piece.hpp"

namespace sheaf::exchange {

namespace {

uint64_t hash(int64_t offset) {
  uint64_t x = static_cast<uint64_t>(offset) + 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

constexpr int64_t bits = 64;  // of a word

}  // namespace

uint64_t coverage_of_range(int64_t low, int64_t high) {
  SHEAF_DEBUG_ASSERT(low <= high);
  return hash(high) - hash(low);
}

uint64_t coverage(const FileAccess& access, int64_t from, int64_t to) {
  uint64_t sum = 0;
  int64_t last = -1;  // the terms of adjacent extents cancel and need no hash
  if (from < to)
    layout::for_each_piece(*access.filetype, access.displacement, from, to,
                           [&](int64_t begin, int64_t length) {
                             if (begin != last) sum += (last < 0 ? 0 : hash(last)) - hash(begin);
                             last = begin + length;
                           });
  return last < 0 ? sum : sum + hash(last);
}

void CoverageMap::set(int64_t begin, int64_t end) const {
  SHEAF_DEBUG_ASSERT(begin >= 0 && end <= bits * std::ssize(words_));
  while (begin < end) {
    const auto word = static_cast<size_t>(begin / bits);
    const int64_t first = begin % bits;
    const int64_t count = std::min(bits - first, end - begin);
    const uint64_t mask = (count == bits ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << first;
    words_[word].fetch_or(mask, std::memory_order_relaxed);
    const uint64_t used = uint64_t{1} << (word % bits);
    std::atomic<uint64_t>& group = used_[word / bits];
    if ((group.load(std::memory_order_relaxed) & used) == 0) group.fetch_or(used, std::memory_order_relaxed);
    begin += count;
  }
}

void CoverageMap::set(const FileAccess& access, int64_t from, int64_t to, int64_t window_offset) const {
  layout::for_each_piece(*access.filetype, access.displacement - window_offset, from, to,
                         [this](int64_t begin, int64_t length) { set(begin, begin + length); });
}

// Returns the first word at or after `word` that may have set bits; the number of words if there is none.
size_t CoverageMap::next_used(size_t word) const {
  while (word < words_.size()) {
    const uint64_t used = used_[word / bits].load(std::memory_order_relaxed) >> (word % bits);
    if (used != 0) return word + static_cast<size_t>(std::countr_zero(used));
    word += bits - word % bits;
  }
  return words_.size();
}

int64_t CoverageMap::next_set(int64_t begin, int64_t end) const {
  SHEAF_DEBUG_ASSERT(begin >= 0 && end <= bits * std::ssize(words_));
  while (begin < end) {
    const auto at = static_cast<size_t>(begin / bits);
    const uint64_t word = words_[at].load(std::memory_order_relaxed) >> (begin % bits);
    if (word != 0) return std::min(end, begin + std::countr_zero(word));
    begin = static_cast<int64_t>(next_used(at + 1)) * bits;
  }
  return end;
}

int64_t CoverageMap::next_clear(int64_t begin, int64_t end) const {
  SHEAF_DEBUG_ASSERT(begin >= 0 && end <= bits * std::ssize(words_));
  while (begin < end) {
    const auto at = static_cast<size_t>(begin / bits);
    const uint64_t word = ~words_[at].load(std::memory_order_relaxed) >> (begin % bits);
    if (word != 0) return std::min(end, begin + std::countr_zero(word));
    begin += bits - begin % bits;
  }
  return end;
}

void CoverageMap::clear() const {
  for (size_t word = 0; (word = next_used(word)) < words_.size(); ++word)
    words_[word].store(0, std::memory_order_relaxed);
  for (std::atomic<uint64_t>& group : used_) group.store(0, std::memory_order_relaxed);
}

}  // namespace sheaf::exchange
