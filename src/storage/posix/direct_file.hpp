// storage/posix/direct_file: an open file whose bytes pass by the page cache (O_DIRECT).
//
// Between hosts each of which has a page cache of its own, this is how a host writes the bytes it has and no
// others: a page cache fills up pages, and writes whole ones back. NFS and most FUSE file systems take any
// bytes; others only whole blocks, as local ones do.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "storage/system/posix_descriptor.hpp"

namespace sheaf {

class DirectFile {
 public:
  // Owns the descriptor, which was opened with O_DIRECT if `direct`. `path` is for messages.
  DirectFile(int fd, bool direct, std::string path) : fd_(fd), direct_(direct), path_(std::move(path)) {}

  // False where the file system does not take such a piece; some of it may be written then. Throws io.
  bool write_at(std::span<const std::byte> data, int64_t offset);
  // Bytes read, fewer only at the end of the file; -1 where the file system gives nothing this way. Throws
  // io.
  int64_t read_at(std::span<std::byte> data, int64_t offset);

 private:
  const Descriptor fd_;
  const bool direct_;
  const std::string path_;
  std::atomic<bool> in_blocks_ = false;  // the file system has refused what was no whole block
};

}  // namespace sheaf
