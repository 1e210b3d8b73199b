// storage/posix/direct_file: an open file with transfers that bypass the page cache (O_DIRECT).
//
// Hosts with separate page caches use it to write exactly their own bytes, because a page cache writes back
// whole pages. NFS and most FUSE file systems accept any offset and length. Other file systems, such as local
// ones, accept whole blocks only.
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
  // Takes the ownership of the descriptor. `direct` must be true if it was opened with O_DIRECT; otherwise
  // all transfers are refused. `path` is for messages.
  DirectFile(int fd, bool direct, std::string path) : fd_(fd), direct_(direct), path_(std::move(path)) {}

  // Writes all of `data` at `offset`. Returns false if the file system does not accept this offset and
  // length; some bytes may have been written even then. Throws io.
  bool write_at(std::span<const std::byte> data, int64_t offset);
  // Fills `data` from `offset`. Returns the number of bytes read, which is smaller than requested only at the
  // end of the file. Returns -1 if the file system does not support direct reads. Throws io.
  int64_t read_at(std::span<std::byte> data, int64_t offset);

 private:
  const PosixDescriptor fd_;
  const bool direct_;
  const std::string path_;
  std::atomic<bool> in_blocks_ = false;  // the file system has refused a transfer of partial blocks
};

}  // namespace sheaf
