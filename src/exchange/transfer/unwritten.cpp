#include "exchange/transfer/unwritten.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <limits>
#include <new>
#include <utility>

#include "base/assert.hpp"
#include "layout/each_piece.hpp"

namespace sheaf::exchange {

namespace {

// Maximum number of separate extents, at some 100 bytes of memory each. If there are more, a single extent
// replaces all of them, and the program must write that whole extent again.
constexpr std::ptrdiff_t max_extents = 1 << 16;

template <class Visit>
void for_each_extent(const FileAccess& access, Visit visit) {
  if (access.bytes() > 0 && access.filetype)
    layout::for_each_piece(*access.filetype, access.displacement, access.from, access.to, visit);
}

bool is_same(const Error& one, const Error& other) {
  return one.code() == other.code() && one.errno_value() == other.errno_value();
}

}  // namespace

bool UnwrittenBytes::is_empty() const {
  const std::lock_guard lock(mutex_);
  return missing_.empty();
}

std::shared_ptr<const UnwrittenBytes::WriteFailure> UnwrittenBytes::failure_of(const Error& why) {
  return std::make_shared<const WriteFailure>(WriteFailure{failures_++, why});
}

// Bytes that were already missing keep their earlier failure.
void UnwrittenBytes::insert(int64_t begin, int64_t end, const std::shared_ptr<const WriteFailure>& failure) {
  SHEAF_DEBUG_ASSERT(begin <= end);
  auto next = missing_.upper_bound(begin);
  if (next != missing_.begin()) begin = std::max(begin, std::prev(next)->second.end);
  while (begin < end) {
    const int64_t gap_end = next == missing_.end() ? end : std::min(end, next->first);
    if (begin < gap_end) {
      Missing* const before = next == missing_.begin() ? nullptr : &std::prev(next)->second;
      if (before && before->end == begin && is_same(before->failure->why, failure->why)) {
        before->end = gap_end;
      } else {
        missing_.emplace_hint(next, begin, Missing{gap_end, failure});
      }
    }
    if (next == missing_.end()) break;
    begin = std::max(begin, next->second.end);
    ++next;
  }
  if (std::ssize(missing_) <= max_extents) return;
  const int64_t first = missing_.begin()->first;
  const Missing all{missing_.rbegin()->second.end, missing_.begin()->second.failure};
  missing_.clear();
  missing_.emplace(first, all);
}

void UnwrittenBytes::erase(int64_t begin, int64_t end) {
  auto at = missing_.lower_bound(begin);
  if (at != missing_.begin() && std::prev(at)->second.end > begin) {
    Missing& before = std::prev(at)->second;
    if (before.end > end) missing_.emplace_hint(at, end, before);  // first, because it may throw
    before.end = begin;
  }
  while (at != missing_.end() && at->first < end) {
    if (at->second.end > end) missing_.emplace(end, at->second);
    at = missing_.erase(at);
  }
}

void UnwrittenBytes::add(int64_t offset, int64_t length, const Error& why) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    insert(offset, offset + length, failure_of(why));
  } catch (const std::bad_alloc&) {
    unknown_ = true;
  }
}

void UnwrittenBytes::add(const FileAccess& access, const Error& why) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    const auto failure = failure_of(why);
    for_each_extent(access,
                    [&](int64_t offset, int64_t length) { insert(offset, offset + length, failure); });
  } catch (const std::bad_alloc&) {
    unknown_ = true;
  }
}

void UnwrittenBytes::add_unknown() noexcept {
  const std::lock_guard lock(mutex_);
  unknown_ = true;
}

void UnwrittenBytes::remove(int64_t offset, int64_t length) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    erase(offset, offset + length);
  } catch (const std::bad_alloc&) {  // the bytes remain missing
  }
}

void UnwrittenBytes::remove(const FileAccess& access) noexcept {
  if (is_empty()) return;
  const std::lock_guard lock(mutex_);
  try {
    for_each_extent(access, [&](int64_t offset, int64_t length) { erase(offset, offset + length); });
  } catch (const std::bad_alloc&) {  // some of the bytes remain missing
  }
}

void UnwrittenBytes::cut(int64_t offset) noexcept {
  const std::lock_guard lock(mutex_);
  if (offset == 0) unknown_ = false;
  erase(offset, std::numeric_limits<int64_t>::max());  // allocates nothing: no extent ends beyond
}

std::optional<Error> UnwrittenBytes::problem(const std::string& path, int task) const {
  const std::lock_guard lock(mutex_);
  if (unknown_)
    return Error(
        Code::io,
        "'" + path + "': bytes of task " + std::to_string(task) + " are missing: a write ran out of memory",
        ENOMEM, task);
  if (missing_.empty()) return std::nullopt;
  const auto first = std::ranges::min_element(
      missing_, {}, [](const Extents::value_type& extent) { return extent.second.failure->number; });
  const auto& [end, failure] = first->second;
  const Error& why = failure->why;
  // Names the path only once, because MPI_Error_string limits the text to 256 characters.
  const std::string reason = why.what();
  const std::string quoted = "'" + path + "'";
  const std::string name = reason.find(quoted) == std::string::npos ? quoted + ": " : "";
  return Error(why.code(),
               name + "bytes " + std::to_string(first->first) + " to " + std::to_string(end - 1) +
                   " of task " + std::to_string(task) + " are missing: " + reason,
               why.errno_value(), task);
}

}  // namespace sheaf::exchange
