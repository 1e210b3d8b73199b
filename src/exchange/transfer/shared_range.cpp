#include "exchange/transfer/shared_range.hpp"

#include <algorithm>
#include <cerrno>

#include "base/assert.hpp"
#include "base/error.hpp"

namespace sheaf::exchange {

SharedRange::SharedRange(File& file, int64_t offset, int64_t length) : file_(file) {
  SHEAF_DEBUG_ASSERT(offset >= 0 && length >= 0);
  if (length == 0 || file.traits().written_as_pieces()) return;  // no task sieves such files
  try {
    hold(offset, offset + length);
  } catch (const Error& error) {
    held_.clear();
    barred_.clear();
    if (error.errno_value() == EAGAIN) throw;
  }
}

void SharedRange::hold(int64_t from, int64_t to) {
  while (from < to) {
    RangeLock got = file_.lock(from, to - from, false, OnConflict::report);
    if (got) {
      held_.push_back(std::move(got));
      return;
    }
    const int64_t begin = std::clamp(got.from, from, to);
    const int64_t end = std::clamp(got.to, begin, to);
    hold(from, begin);
    barred_.push_back(Extent::between(begin, end));
    from = std::max(end, from + 1);
  }
}

bool SharedRange::was_unguarded() {
  held_.clear();
  return std::ranges::any_of(barred_, [&](const Extent& part) {
    const RangeLock now = file_.lock(part.offset, part.length, false, OnConflict::report);
    return now || now.from > part.offset || now.to < part.end();
  });
}

}  // namespace sheaf::exchange
