#include "exchange/parcel.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace sheaf::exchange {

namespace {
constexpr size_t unit = sizeof(int64_t);
size_t padded(size_t bytes) { return (bytes + unit - 1) / unit * unit; }
}  // namespace

int64_t Parcel::room() const {
  return capacity_ - static_cast<int64_t>(sizeof(Head) + padded(static_cast<size_t>(bytes_)) + extents_.size() * sizeof(Extent));
}

void Parcel::reserve(size_t bytes) {
  if (memory_.capacity() >= bytes) return;
  memory_.reserve(std::min(static_cast<size_t>(capacity_), std::max(bytes, 4 * memory_.capacity())));
}

int64_t Parcel::append(std::span<const std::byte> data, int64_t offset) {
  const bool continues = !extents_.empty() && extents_.back().end() == offset;
  const int64_t left = room() - (continues ? 0 : static_cast<int64_t>(sizeof(Extent))) - static_cast<int64_t>(unit);
  const int64_t n = std::min(left, std::ssize(data));
  if (n <= 0) return 0;
  if (continues) {
    extents_.back().length += n;
  } else {
    extents_.push_back({offset, n});
  }
  const size_t end = sizeof(Head) + static_cast<size_t>(bytes_);
  reserve(end + static_cast<size_t>(n));
  memory_.resize(end);  // drops sealed extents
  memory_.insert(memory_.end(), data.begin(), data.begin() + n);
  bytes_ += n;
  return n;
}

bool Parcel::append_wish(const Extent& extent) {
  if (room() < static_cast<int64_t>(sizeof(Extent) + unit)) return false;
  extents_.push_back(extent);
  return true;
}

int64_t Parcel::bytes() const {
  int64_t sum = 0;
  for (const Extent& extent : extents_) sum += extent.length;
  return sum;
}

std::span<const std::byte> Parcel::data() const {
  return std::span(memory_).subspan(std::min(memory_.size(), sizeof(Head)), static_cast<size_t>(bytes_));
}

std::span<const std::byte> Parcel::seal(const int64_t (&note)[4]) {
  Head head{std::ssize(extents_), bytes_, {}};
  std::ranges::copy(note, head.note);
  const size_t data_end = sizeof head + padded(static_cast<size_t>(bytes_));
  memory_.resize(data_end + extents_.size() * sizeof(Extent));
  std::memcpy(memory_.data(), &head, sizeof head);
  if (!extents_.empty()) std::memcpy(memory_.data() + data_end, extents_.data(), extents_.size() * sizeof(Extent));
  return memory_;
}

void Parcel::clear() {
  bytes_ = 0;
  extents_.clear();
  memory_.clear();
}

Arrived open_parcel(std::span<const std::byte> message) {
  Arrived arrived;
  const auto require = [](bool holds) {
    if (!holds) throw Error(Code::damaged, "a message between tasks makes no sense");
  };
  require(message.size() >= sizeof(Head));
  std::memcpy(&arrived.head, message.data(), sizeof(Head));
  const auto rest = static_cast<int64_t>(message.size() - sizeof(Head));
  require(arrived.head.bytes >= 0 && arrived.head.bytes <= rest && arrived.head.extents >= 0);
  const size_t data = padded(static_cast<size_t>(arrived.head.bytes));
  require(message.size() - sizeof(Head) == data + static_cast<size_t>(arrived.head.extents) * sizeof(Extent));
  arrived.data = message.subspan(sizeof(Head), static_cast<size_t>(arrived.head.bytes));
  arrived.extents = {reinterpret_cast<const Extent*>(message.data() + sizeof(Head) + data),
                     static_cast<size_t>(arrived.head.extents)};
  int64_t sum = 0;
  for (const Extent& extent : arrived.extents) {
    require(extent.offset >= 0 && extent.length > 0 && extent.length <= INT64_MAX - sum);
    sum += extent.length;
  }
  require(arrived.head.bytes == 0 || sum == arrived.head.bytes);
  return arrived;
}

}  // namespace sheaf::exchange
