#include "storage/background/capture_memory.hpp"

#include <utility>

#include "storage/background/constants.hpp"

namespace sheaf {

using background_constants::piece;

std::shared_ptr<CapturePiece> CaptureMemory::acquire(const std::shared_ptr<CaptureBudget>& budget) {
  const std::lock_guard lock(mutex_);
  free_.reserve(free_.size() + static_cast<size_t>(in_use_) + 1);
  if (!budget->take(piece)) {
    if (in_use_ > 0) return nullptr;
    budget->take_regardless(piece);
  }
  try {
    if (free_.empty()) free_.push_back(std::make_unique<CapturePiece>(piece));
  } catch (...) {
    budget->give_back(piece);
    throw;
  }
  CapturePiece* const found = free_.back().release();
  free_.pop_back();
  ++in_use_;
  found->budget = budget;
  found->filled = 0;
  return {found, [this](CapturePiece* released) { release(released); }};
}

void CaptureMemory::release(CapturePiece* released) noexcept {
  const auto budget = std::exchange(released->budget, nullptr);
  const std::lock_guard lock(mutex_);
  free_.emplace_back(released);
  --in_use_;
  budget->give_back(piece);
}

int64_t CaptureMemory::in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_ * int64_t{piece};
}

int64_t CaptureMemory::allocated() const {
  const std::lock_guard lock(mutex_);
  return (in_use_ + std::ssize(free_)) * int64_t{piece};
}

}  // namespace sheaf
