#include "multifile/collected_file.hpp"

#include <iterator>
#include <utility>

#include "exchange/access_list.hpp"

namespace sheaf {

using exchange::Parcel;

void CollectedFile::throttle(std::shared_ptr<WriteSlots> slots) {
  slots_ = std::move(slots);
  if (file_) file_ = throttled(std::move(file_), slots_);
}

void CollectedFile::hold(int64_t capacity, int64_t direct) {
  capacity_ = capacity;
  direct_ = direct;
}

void CollectedFile::begin_unbounded(bool everything) {
  before_ = held_.size();
  held_.emplace_back(capacity_);
  unbounded_ = true;
  everything_ = everything;
}

size_t CollectedFile::bound_again() {
  everything_ = false;
  if (!std::exchange(unbounded_, false)) return 0;
  std::erase_if(held_, [](const Parcel& parcel) { return parcel.empty(); });
  return held_.size() - before_;
}

void CollectedFile::ship() {
  shipped_.swap(held_);
  held_.clear();
}

void CollectedFile::take_back() {
  shipped_.insert(shipped_.end(), std::make_move_iterator(held_.begin()), std::make_move_iterator(held_.end()));
  held_ = std::move(shipped_);
  shipped_.clear();
}

namespace {

std::vector<exchange::Piece<const std::byte>> pieces_of(const std::vector<Parcel>& parcels) {
  std::vector<exchange::Piece<const std::byte>> pieces;
  for (const Parcel& parcel : parcels) add_pieces(pieces, parcel.extents(), parcel.data());
  return pieces;
}

}  // namespace

void CollectedFile::write_held() {
  if (held_.empty()) return;
  write_pieces(real(), pieces_of(held_));
  held_.clear();
  before_ = 0;
}

void CollectedFile::write_unconfirmed() {
  // What is shipped stays: the collector asks for it if it could not write it.
  if (!shipped_.empty()) write_pieces(real(), pieces_of(shipped_));
  write_held();
}

File& CollectedFile::real() {
  if (!file_) file_ = throttled(store_.open(path_, Access::write), slots_);
  return *file_;
}

bool CollectedFile::fits(int64_t bytes) const {
  constexpr int64_t around = sizeof(exchange::Head) + sizeof(exchange::Extent) + sizeof(int64_t);
  if (held_.empty()) return bytes <= capacity_ - around;
  return held_.size() == 1 && bytes <= held_.back().room() - around;
}

void CollectedFile::write_at(std::span<const std::byte> data, int64_t offset) {
  const int64_t bytes = std::ssize(data);
  if (capacity_ == 0) return real().write_at(data, offset);
  const bool holds = everything_ || (!alone_ && bytes < direct_ && (unbounded_ || fits(bytes)));
  if (!holds) {
    try {
      write_held();
      real().write_at(data, offset);
    } catch (...) {
      alone_ = true;
      throw;
    }
    return;
  }
  if (held_.empty()) held_.emplace_back(capacity_);
  while (!data.empty()) {
    const int64_t taken = held_.back().append(data, offset);
    data = data.subspan(static_cast<size_t>(taken));
    offset += taken;
    if (!data.empty()) held_.emplace_back(capacity_);
  }
}

void CollectedFile::write_vector_at(std::span<const std::span<const std::byte>> parts, int64_t offset) {
  if (capacity_ == 0) return real().write_vector_at(parts, offset);
  for (const auto& part : parts) {
    if (!part.empty()) write_at(part, offset);
    offset += std::ssize(part);
  }
}

void CollectedFile::sync() {
  write_unconfirmed();
  if (file_) file_->sync();
}

void CollectedFile::close() {
  capacity_ = 0;
  held_.clear();
  shipped_.clear();
  if (file_) std::exchange(file_, nullptr)->close();
}

}  // namespace sheaf
