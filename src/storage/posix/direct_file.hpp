// storage/posix/direct_file: an open file with transfers that bypass the page cache (O_DIRECT).
//
// Where each host has its own page cache, this is how a host writes exactly its own bytes: a page cache fills
// pages and writes them back whole. NFS and most FUSE file systems accept any bytes; others, such as local
// ones, only whole blocks.
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
  // Takes over the descriptor, which was opened with O_DIRECT if `direct`. `path` is for messages.
  DirectFile(int fd, bool direct, std::string path) : fd_(fd), direct_(direct), path_(std::move(path)) {}

  // Returns false if the file system does not accept such an extent; some bytes may have been written then.
  // Throws io.
  bool write_at(std::span<const std::byte> data, int64_t offset);
  // Returns the bytes read, fewer only at the end of the file; -1 if the file system does not support such
  // reads. Throws io.
  int64_t read_at(std::span<std::byte> data, int64_t offset);

 private:
  const Descriptor fd_;
  const bool direct_;
  const std::string path_;
  std::atomic<bool> in_blocks_ = false;  // the file system has refused a transfer of partial blocks
};

}  // namespace sheaf
