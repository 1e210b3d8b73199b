#include "exchange/transfer/concurrent_openers.hpp"

#include <cerrno>

#include "base/assert.hpp"
#include "base/os/random.hpp"
#include "exchange/pieces/constants.hpp"

namespace sheaf::exchange {

namespace {

// Each handle locks one byte of a region beyond all data. Two handles rarely choose the same byte.
constexpr int64_t first_mark = int64_t{1} << 62;
constexpr int64_t marks = 1 << 20;

RangeLock try_lock(File& file, int64_t begin, int64_t end) {
  return file.lock(first_mark + begin, end - begin, true, OnConflict::refusal);
}

}  // namespace

void ConcurrentOpeners::announce(std::shared_ptr<File> file) {
  SHEAF_ASSERT(file && !mark_);
  for (Backoff backoff(lock_backoff);; backoff.wait()) {
    for (int tries = 0; tries < tries_at_once; ++tries) {
      // Excludes the first and the last byte, because keep_out() locks the bytes before and after `mine_`.
      mine_ = 1 + static_cast<int64_t>(random_number() % (marks - 2));
      if (!(mark_ = try_lock(*file, mine_, mine_ + 1))) continue;
      file_ = std::move(file);
      return;
    }
    if (backoff.waited() > filler_timeout)
      throw not_locked(file->path(), first_mark, marks, "another handle of the file", backoff.waited());
  }
}

// Two handles that try at the same time exclude each other, and both fail.
RangeLock ConcurrentOpeners::keep_out() {
  if (!mark_) return {};
  try {
    RangeLock before = try_lock(*file_, 0, mine_);
    if (!before) return {};
    return kept_with(try_lock(*file_, mine_ + 1, marks), std::move(before.held));
  } catch (const Error&) {
    return {};  // treated as if another handle were open
  }
}

}  // namespace sheaf::exchange
