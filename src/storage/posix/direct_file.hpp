// storage/posix/direct_file: an open file with transfers that bypass the page cache (O_DIRECT).
//
// A direct write changes exactly the given bytes. A page cache writes back whole pages instead, which can
// overwrite bytes of other hosts. NFS and most FUSE file systems accept direct transfers of any extent. Other
// file systems, such as local ones, accept only whole blocks.
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

  // Writes all of `data` at `offset`. Returns false if the file or this extent cannot be written directly; a
  // part of `data` may have been written. Throws io.
  bool write_at(std::span<const std::byte> data, int64_t offset);
  // Reads up to data.size() bytes at `offset`. Returns their number, which is smaller only at the end of the
  // file, or -1 if the file cannot be read directly. Throws io.
  int64_t read_at(std::span<std::byte> data, int64_t offset);

 private:
  const Descriptor fd_;
  const bool direct_;
  const std::string path_;
  std::atomic<bool> in_blocks_ = false;  // the file system has refused a transfer of partial blocks
};

}  // namespace sheaf
