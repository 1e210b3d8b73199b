// support/stores/memory_inode: the bytes of one file of a MemoryStore, as a sorted map of pages.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>

#include "storage/posix/range_locks.hpp"
#include "support/stores/memory_store.hpp"

namespace sheaf {

// Thread-safe. The caller has validated offsets and lengths (storage/range.hpp).
struct MemoryStore::Inode {
 public:
  Inode(int64_t block_size, int64_t page_size) : block_size_(block_size), page_size_(page_size) {}

  void write(std::span<const std::byte> data, int64_t offset);
  size_t read(std::span<std::byte> data, int64_t offset) const;
  void resize(int64_t size);
  int64_t next_data(int64_t offset) const;
  int64_t next_hole(int64_t offset) const;
  FileStatus status() const;

  RangeLocks locks;
  Striping striping;                  // as requested at creation
  std::atomic<bool> removed = false;  // true once the file's last name is removed

 private:
  const int64_t block_size_;
  const int64_t page_size_;
  mutable std::shared_mutex mutex_;
  int64_t size_ = 0;
  // Page number -> its bytes. Bytes of a page beyond size_ are zero, so growing needs no work.
  std::map<int64_t, std::unique_ptr<std::byte[]>> pages_;
};

}  // namespace sheaf
