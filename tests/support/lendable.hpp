// lendable: memory as the tasks of a node share it, which another process could map.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <span>
#include <stdexcept>

#include "storage/lent_memory.hpp"

namespace sheaf::test {

class Lendable {
 public:
  explicit Lendable(size_t size) : size_(size), descriptor_(memfd_create("lendable", MFD_CLOEXEC)) {
    if (descriptor_ < 0 || ftruncate(descriptor_, static_cast<off_t>(lendable_size(size))) != 0) throw std::runtime_error("memfd");
    void* const mapping = mmap(nullptr, lendable_size(size), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (mapping == MAP_FAILED) throw std::runtime_error("mmap");
    mapping_ = static_cast<std::byte*>(mapping);
    make_lendable(mapping_, size);
  }
  Lendable(const Lendable&) = delete;
  Lendable& operator=(const Lendable&) = delete;
  ~Lendable() {
    munmap(mapping_, lendable_size(size_));
    ::close(descriptor_);
  }

  std::span<std::byte> bytes() const { return {mapping_, size_}; }
  LentMemory lent() const { return lend(mapping_, size_, descriptor_); }

 private:
  const size_t size_;
  const int descriptor_;
  std::byte* mapping_ = nullptr;
};

}  // namespace sheaf::test
