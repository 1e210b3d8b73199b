#include "storage/posix/direct_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "base/report/trace.hpp"
#include "storage/constants.hpp"
#include "storage/system/posix_transfer.hpp"

namespace sheaf {

namespace {

using namespace storage_constants;

struct Free {
  void operator()(std::byte* memory) const { ::operator delete(memory, std::align_val_t{direct_block}); }
};
using Aligned = std::unique_ptr<std::byte, Free>;

Aligned aligned_memory(size_t bytes) {
  return Aligned(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{direct_block})));
}

bool is_whole(int64_t offset, size_t length) {
  return (offset | static_cast<int64_t>(length)) % direct_block == 0;
}

}  // namespace

bool DirectFile::write_at(std::span<const std::byte> data, int64_t offset) {
  if (!direct_ || (in_blocks_ && !is_whole(offset, data.size()))) return false;
  const Aligned memory = aligned_memory(std::min(data.size(), direct_at_once));
  for (size_t done = 0; done < data.size();) {
    const auto part = data.subspan(done, std::min(data.size() - done, direct_at_once));
    const int64_t at = offset + static_cast<int64_t>(done);
    std::memcpy(memory.get(), part.data(), part.size());
    const TraceEvent event("write", at, std::ssize(part));
    const int error = write_all(fd_.get(), std::span(memory.get(), part.size()), at).error;
    if (error == EINVAL) {
      in_blocks_ = true;
      return false;
    }
    require_moved("write", path_, at, part.size(), error);
    done += part.size();
  }
  return true;
}

// If the file system accepts whole blocks only, reads the blocks that contain the bytes.
int64_t DirectFile::read_at(std::span<std::byte> data, int64_t offset) {
  if (!direct_) return -1;
  size_t done = 0;
  Aligned memory = aligned_memory(std::min(data.size(), direct_at_once) + 2 * direct_block);
  while (done < data.size()) {
    const auto part = data.subspan(done, std::min(data.size() - done, direct_at_once));
    const int64_t at = offset + static_cast<int64_t>(done);
    const int64_t ahead = in_blocks_ ? at % direct_block : 0;
    size_t wanted = part.size() + static_cast<size_t>(ahead);
    if (in_blocks_) wanted = (wanted + direct_block - 1) / direct_block * direct_block;
    const TraceEvent event("read", at - ahead, static_cast<int64_t>(wanted));
    const Moved moved = read_all(fd_.get(), std::span(memory.get(), wanted), at - ahead);
    // A read that stops at the end of the file is resumed inside a block, which yields EINVAL.
    const bool at_end = moved.bytes > 0 && in_blocks_;
    if (moved.error == EINVAL && !at_end) {
      if (in_blocks_.exchange(true)) return -1;
      continue;
    }
    if (moved.error != EINVAL) require_moved("read", path_, at, part.size(), moved.error);
    const size_t got = std::min(part.size(), moved.bytes - std::min(moved.bytes, static_cast<size_t>(ahead)));
    std::memcpy(part.data(), memory.get() + ahead, got);
    done += got;
    if (got < part.size()) break;
  }
  return static_cast<int64_t>(done);
}

}  // namespace sheaf
