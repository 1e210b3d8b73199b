// storage/mapped_read: a part of a file where it lies in the page cache, to be read without a copy.
//
// For readers that do something with each byte on its way to the caller: read(2) would bring it to memory once, and they would
// walk through it again (docs/tuning.md, "Checksums").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace sheaf {

class MappedRead {
 public:
  MappedRead() = default;
  // `length` bytes from `offset` of the file that is open for reading as `fd`. Empty if not all of them are in the file and in the
  // page cache (read(2) reads ahead, and says what the matter is where a disk fails), or the kernel does not map them.
  MappedRead(int fd, int64_t offset, size_t length);
  ~MappedRead();
  MappedRead(MappedRead&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), mapped_(other.mapped_), bytes_(std::exchange(other.bytes_, {})) {}
  MappedRead& operator=(MappedRead&&) = delete;

  explicit operator bool() const { return start_ != nullptr; }
  // Stay as long as this object; what others write to the file meanwhile is seen. They may not make the file shorter: bytes that
  // are cut off while they are looked at end the process (SIGBUS), so look at once, and at little.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void* start_ = nullptr;
  size_t mapped_ = 0;
  std::span<const std::byte> bytes_;
};

}  // namespace sheaf
