#include "storage/decorators/gathered_file.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "storage/constants.hpp"

namespace sheaf {

// Returns the first run that ends at or after `offset`.
GatheredFile::Runs::iterator GatheredFile::first_behind(int64_t offset) {
  auto run = kept_.upper_bound(offset);
  if (run != kept_.begin() && end_of(*std::prev(run)) >= offset) --run;
  return run;
}

void GatheredFile::flush() {
  while (!kept_.empty()) {
    const auto run = kept_.begin();
    inner().write_at(run->second, run->first);
    bytes_ -= run->second.size();
    kept_.erase(run);
  }
}

void GatheredFile::write_at(std::span<const std::byte> data, int64_t offset) {
  if (data.empty()) return;
  if (bytes_ + data.size() > storage_constants::max_gathered) flush();
  if (data.size() > storage_constants::max_gathered) return inner().write_at(data, offset);
  // Merges all runs that the write touches into one. The new bytes replace the buffered ones.
  const int64_t end = offset + std::ssize(data);
  const auto first = first_behind(offset);
  auto last = first;
  int64_t run_begin = offset, run_end = end;
  for (; last != kept_.end() && last->first <= end; ++last) {
    run_begin = std::min(run_begin, last->first);
    run_end = std::max(run_end, end_of(*last));
  }
  std::vector<std::byte> joined(static_cast<size_t>(run_end - run_begin));
  size_t before = 0;
  for (auto run = first; run != last; ++run) {
    std::ranges::copy(run->second, joined.begin() + (run->first - run_begin));
    before += run->second.size();
  }
  std::ranges::copy(data, joined.begin() + (offset - run_begin));
  bytes_ += joined.size() - before;
  kept_.erase(first, last);
  kept_.emplace(run_begin, std::move(joined));
  SHEAF_DEBUG_ASSERT(bytes_ <= storage_constants::max_gathered);
}

size_t GatheredFile::read_at(std::span<std::byte> data, int64_t offset) {
  const int64_t end = offset + std::ssize(data);
  auto run = first_behind(offset);
  if (run != kept_.end() && end_of(*run) == offset) ++run;
  if (run != kept_.end() && run->first <= offset && end <= end_of(*run)) {
    std::ranges::copy(std::span(run->second).subspan(static_cast<size_t>(offset - run->first), data.size()),
                      data.begin());
    return data.size();
  }
  if (run != kept_.end() && run->first < end) flush();
  const size_t got = inner().read_at(data, offset);
  // If the inner file ends before the buffered bytes, the space between reads as zeros. A read that extends
  // beyond the buffered bytes may be short.
  if (got == data.size() || kept_.empty() || kept_.rbegin()->first < end) return got;
  if (offset + static_cast<int64_t>(got) < inner().status().size) return got;
  std::ranges::fill(data.subspan(got), std::byte{});
  return data.size();
}

FileStatus GatheredFile::status() {
  FileStatus status = inner().status();
  if (!kept_.empty()) status.size = std::max(status.size, end_of(*kept_.rbegin()));
  return status;
}

}  // namespace sheaf
