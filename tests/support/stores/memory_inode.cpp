// support/stores/memory_inode: reading and writing pages.
#include "support/stores/memory_inode.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace sheaf {

void MemoryStore::Inode::write(std::span<const std::byte> data, int64_t offset) {
  if (data.empty()) return;
  const std::unique_lock lock(mutex_);
  size_ = std::max(size_, offset + static_cast<int64_t>(data.size()));
  auto page = pages_.lower_bound(offset / page_size_);
  while (!data.empty()) {
    const int64_t number = offset / page_size_;
    const int64_t within = offset % page_size_;
    const size_t count = std::min(data.size(), static_cast<size_t>(page_size_ - within));
    if (page == pages_.end() || page->first != number)
      page =
          pages_.emplace_hint(page, number, std::make_unique<std::byte[]>(static_cast<size_t>(page_size_)));
    std::memcpy(page->second.get() + within, data.data(), count);
    data = data.subspan(count);
    offset += static_cast<int64_t>(count);
    ++page;
  }
}

size_t MemoryStore::Inode::read(std::span<std::byte> data, int64_t offset) const {
  const std::shared_lock lock(mutex_);
  if (offset >= size_) return 0;
  data = data.first(std::min(data.size(), static_cast<size_t>(size_ - offset)));
  const size_t got = data.size();
  auto page = pages_.lower_bound(offset / page_size_);
  while (!data.empty()) {
    const int64_t number = offset / page_size_;
    const int64_t within = offset % page_size_;
    const size_t count = std::min(data.size(), static_cast<size_t>(page_size_ - within));
    if (page != pages_.end() && page->first == number) {
      std::memcpy(data.data(), page->second.get() + within, count);
      ++page;
    } else {
      std::memset(data.data(), 0, count);
    }
    data = data.subspan(count);
    offset += static_cast<int64_t>(count);
  }
  return got;
}

void MemoryStore::Inode::resize(int64_t size) {
  const std::unique_lock lock(mutex_);
  if (size < size_) {
    const int64_t within = size % page_size_;
    if (const auto last = pages_.find(size / page_size_); within != 0 && last != pages_.end())
      std::memset(last->second.get() + within, 0, static_cast<size_t>(page_size_ - within));
    pages_.erase(pages_.lower_bound(size / page_size_ + (within != 0 ? 1 : 0)), pages_.end());
  }
  size_ = size;
}

int64_t MemoryStore::Inode::next_data(int64_t offset) const {
  const std::shared_lock lock(mutex_);
  const auto page = pages_.lower_bound(offset / page_size_);
  if (page == pages_.end() || offset >= size_) return size_;
  return std::max(offset, page->first * page_size_);
}

int64_t MemoryStore::Inode::next_hole(int64_t offset) const {
  const std::shared_lock lock(mutex_);
  if (offset >= size_) return offset;
  auto page = pages_.find(offset / page_size_);
  while (page != pages_.end() && page->first == offset / page_size_) {
    if (page->first >= (size_ - 1) / page_size_) return size_;
    offset = (page->first + 1) * page_size_;
    ++page;
  }
  return offset;
}

FileStatus MemoryStore::Inode::status() const {
  const std::shared_lock lock(mutex_);
  return {.exists = true,
          .is_directory = false,
          .size = size_,
          .block_size = block_size_,
          .allocated = static_cast<int64_t>(pages_.size()) * page_size_,
          .is_special = false,
          .links = removed ? 0 : 1,
          .number = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(this))};
}

}  // namespace sheaf
