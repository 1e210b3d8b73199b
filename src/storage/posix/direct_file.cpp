#include "storage/posix/direct_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "storage/system/posix_transfer.hpp"

namespace sheaf {

namespace {

constexpr int64_t block = 4096;      // that any file system takes: bytes, in the file and in memory
constexpr size_t at_once = 1 << 20;  // bytes that pass through memory of ours
static_assert(at_once % block == 0);

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Aligned = std::unique_ptr<std::byte, Free>;

Aligned aligned_memory(size_t bytes) {
  const size_t whole = (std::max<size_t>(bytes, 1) + block - 1) / block * block;
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(block, whole));
  if (!memory) throw std::bad_alloc();
  return Aligned(memory);
}

bool is_whole(int64_t offset, size_t length) { return (offset | static_cast<int64_t>(length)) % block == 0; }

[[noreturn]] void fail(const char* doing, const std::string& path, size_t length, int64_t offset, int error) {
  throw os_error("cannot " + std::string(doing) + " " + std::to_string(length) + " bytes at offset " +
                     std::to_string(offset) + " of",
                 path, error);
}

}  // namespace

bool DirectFile::write_at(std::span<const std::byte> data, int64_t offset) {
  if (!direct_ || (in_blocks_ && !is_whole(offset, data.size()))) return false;
  const Aligned memory = aligned_memory(std::min(data.size(), at_once));
  for (size_t done = 0; done < data.size();) {
    const auto part = data.subspan(done, std::min(data.size() - done, at_once));
    const int64_t at = offset + static_cast<int64_t>(done);
    std::memcpy(memory.get(), part.data(), part.size());
    const Moved moved = move_all(part.size(), [&](size_t before, size_t count) {
      return ::pwrite(fd_.get(), memory.get() + before, count, at + static_cast<int64_t>(before));
    });
    if (moved.error == EINVAL) {
      in_blocks_ = true;
      return false;
    }
    if (moved.bytes < part.size()) fail("write", path_, part.size(), at, moved.error ? moved.error : EIO);
    done += part.size();
  }
  return true;
}

// Whole blocks around the bytes are read where the file system gives nothing else.
int64_t DirectFile::read_at(std::span<std::byte> data, int64_t offset) {
  if (!direct_) return -1;
  size_t done = 0;
  Aligned memory = aligned_memory(std::min(data.size(), at_once) + 2 * block);
  while (done < data.size()) {
    const auto part = data.subspan(done, std::min(data.size() - done, at_once));
    const int64_t at = offset + static_cast<int64_t>(done);
    const int64_t ahead = in_blocks_ ? at % block : 0;
    size_t wanted = part.size() + static_cast<size_t>(ahead);
    if (in_blocks_) wanted = (wanted + block - 1) / block * block;
    const Moved moved = move_all(wanted, [&](size_t before, size_t count) {
      return ::pread(fd_.get(), memory.get() + before, count, at - ahead + static_cast<int64_t>(before));
    });
    // At the end of the file a read goes on where no block begins.
    const bool at_end = moved.bytes > 0 && in_blocks_;
    if (moved.error == EINVAL && !at_end) {
      if (in_blocks_.exchange(true)) return -1;
      continue;
    }
    if (moved.error != 0 && moved.error != EINVAL) fail("read", path_, part.size(), at, moved.error);
    const size_t got = std::min(part.size(), moved.bytes - std::min(moved.bytes, static_cast<size_t>(ahead)));
    std::memcpy(part.data(), memory.get() + ahead, got);
    done += got;
    if (got < part.size()) break;
  }
  return static_cast<int64_t>(done);
}

}  // namespace sheaf
