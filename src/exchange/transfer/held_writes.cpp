#include "exchange/transfer/held_writes.hpp"

#include <array>

#include "base/assert.hpp"
#include "exchange/pieces/constants.hpp"

namespace sheaf::exchange {

int64_t HeldWrites::count() const {
  const std::shared_lock lock(mutex_);
  return waiting_.count();
}

int64_t HeldWrites::end() const {
  const std::shared_lock lock(mutex_);
  return last();
}

bool HeldWrites::add(const FileAccess& access) {
  const std::unique_lock lock(mutex_);
  if (waiting_.memory() + HeldExtents::memory_for(access) > held_memory) return false;
  empty_ = false;
  waiting_.add(access);
  return true;
}

void HeldWrites::replace(const FileAccess& access) {
  if (is_empty()) return;
  const std::unique_lock lock(mutex_);
  waiting_.remove(access);
  if (drained_) waiting_.add_overlap(access, *drained_);
  note_change();
}

void HeldWrites::clear() {
  const std::unique_lock lock(mutex_);
  waiting_ = {};
  note_change();
}

const HeldExtents* HeldWrites::take() {
  if (is_empty()) return nullptr;
  const std::unique_lock lock(mutex_);
  if (drained_ || waiting_.is_empty()) return nullptr;
  auto batch = std::make_unique<HeldExtents>();
  std::swap(*batch, waiting_);
  drained_ = std::move(batch);
  return drained_.get();
}

void HeldWrites::finish() {
  const std::unique_lock lock(mutex_);
  SHEAF_ASSERT(drained_);
  drained_.reset();
  note_change();
}

int64_t HeldWrites::copy_to(const FileAccess& access) const {
  const int64_t older = drained_ ? drained_->copy_to(access) : 0;
  return std::max(older, waiting_.copy_to(access));
}

// Adds held bytes to an access of which the file had `done` bytes.
int64_t HeldWrites::complete(const FileAccess& access, int64_t done) const {
  const int64_t to = access.position_at(last());
  static constexpr std::array<std::byte, mover_bytes> zeros{};
  for (int64_t at = access.from + done; at < to; at += mover_bytes)
    unpack(access, at, std::min(to, at + mover_bytes), zeros.data());
  copy_to(access);
  return std::max(done, to - access.from);
}

}  // namespace sheaf::exchange
