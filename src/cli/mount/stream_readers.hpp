// cli/mount/stream_readers: keeps streams open between reads that come without a handle: the reads of an
// image (cli/mount/image), and those of files that the kernel opens without a request.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "streams/mount/tree.hpp"

namespace sheaf::cli {

class StreamReaders {
 public:
  // Returns the open stream of a file; opens it if necessary. Throws the errors of opening. Thread-safe.
  std::shared_ptr<mount::ReadableStream> of(const mount::TreeNode& file) {
    const std::lock_guard lock(mutex_);
    if (const auto found = readers_.find(file.number); found != readers_.end()) return found->second;
    if (readers_.size() == max_readers) readers_.clear();
    return readers_[file.number] = file.streams->open(file.stream);
  }

 private:
  static constexpr size_t max_readers = 64;  // each may hold its table of sizes in memory

  std::mutex mutex_;  // guards the following member
  std::unordered_map<uint64_t, std::shared_ptr<mount::ReadableStream>> readers_;  // by number of the file
};

}  // namespace sheaf::cli
