// Locks ranges of a striped file.
#include <chrono>

#include "comm/agree.hpp"
#include "sfio/striped_file.hpp"

namespace sheaf::sfio {

// Polls the listener. It does not hold the link's lock between polls, because the holder of the range may be
// another thread of this task. The listener answers at once, because a delayed answer would make it look
// dead.
RangeLock StripedFile::lock_range(const LockRequest& wanted) {
  const auto& [offset, length, exclusive, on_conflict, timeout] = wanted;
  if (const auto local = link_->local_file(subfiles_[0].listener, subfiles_[0].handle))
    return kept_with(local->lock_range(wanted), local);
  const double begin = link_->now();
  for (;;) {
    {
      const std::lock_guard hold(link_->lock());
      const auto kind = exclusive ? RequestKind::lock : RequestKind::lock_shared;
      if (ask(*link_, {about(subfiles_[0], kind, {offset, length})})[0].values[0] != 0) break;
    }
    if (on_conflict == OnConflict::refusal) return {};
    const double waited = link_->now() - begin;
    if (waited > std::chrono::duration<double>(timeout).count())
      throw not_locked(name_, offset, length, "another task",
                       std::chrono::seconds(static_cast<int64_t>(waited)));
    link_->back_off(waited);
  }
  // Closing the file has already released its locks.
  return held_until([this, is_open = std::weak_ptr(open_), offset = offset, length = length] {
    if (is_open.expired()) return;
    const std::lock_guard hold(link_->lock());
    attempt([&] { ask(*link_, {about(subfiles_[0], RequestKind::unlock, {offset, length})}); });
  });
}

}  // namespace sheaf::sfio
