// storage/file_memory: a range of a file of tmpfs as memory, and large pages for it.
//
// Such a file is memory, and what writing costs is mostly the making of pages: 1.2 us for one of 4 KiB, while one write(2) at a
// time is let in. Pages that madvise(2) brings into a mapping need no lock of the file, and of 2 MiB each they cost a third of
// that (docs/tuning.md, "Files on tmpfs"). tmpfs makes large pages by itself only where it was mounted so; MADV_COLLAPSE (Linux
// 6.1) asks for a single one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

namespace sheaf {

// Bytes of a large page; 0 where the kernel has none, or some that are too large for files of usual sizes.
int64_t large_page();

class FileMemory {
 public:
  // Bytes [low, high) of the file that is open for reading and writing as `fd`, which stays open meanwhile; the file may be shorter.
  // Not there if the kernel does not map them.
  FileMemory(int fd, int64_t low, int64_t high);
  ~FileMemory();
  FileMemory(const FileMemory&) = delete;
  FileMemory& operator=(const FileMemory&) = delete;

  explicit operator bool() const { return start_ != nullptr; }

  bool covers(int64_t low, int64_t high) const { return start_ && low >= begin_ && high <= end_; }

  // Makes the file reach `end`, and never shorter. What lies behind its end can neither be made nor brought in.
  bool reach(int64_t end);

  // Where byte `offset` of the file is, once it was brought in.
  std::byte* at(int64_t offset) const { return start_ + (offset - begin_); }

  // Makes the large page that holds `offset` of the range, whatever it holds now. False if the kernel has no such page: it is too
  // old, or memory or the file system are full; the bytes are as they were then.
  bool make_large(int64_t offset);

  // Brings in the pages of a part of the range. False if one does not come: the file system is full, a limit is reached. Pages
  // that are in cannot fail to come when they are touched, where that would be a SIGBUS, unless somebody cuts the file off.
  bool bring(int64_t from, int64_t to);

 private:
  const int fd_;
  const int64_t begin_;  // of the mapping, on a border of large pages
  const int64_t end_;
  std::byte* start_ = nullptr;
  void* mapped_ = nullptr;
  size_t length_ = 0;
};

// Writes `parts`, together `length` bytes, one behind the other from `offset` (bytes) of the file that is open for reading
// and writing as `fd`, which grows if need be. False if the kernel does not bring in the pages. Then any part of
// the bytes may have been written, and pwrite(2) of the same bytes does the job or says what the matter is.
bool write_mapped(int fd, std::span<const std::span<const std::byte>> parts, size_t length, int64_t offset);

// Makes large pages for those who write one piece behind the other, as long as they do. May be used by threads.
class LargePages {
 public:
  // `length` bytes from `offset` of `fd` are about to be written. From the first large page that the run of pieces has filled on,
  // the next ones are made if they are holes: one at most is then not filled to its end. True if all of the bytes lie in pages that
  // were made: a mapping takes them faster than pwrite(2).
  bool expect(int fd, int64_t offset, int64_t length);

 private:
  std::mutex lock_;
  int64_t run_from_ = 0;   // of the pieces up to now
  int64_t run_to_ = 0;
  int64_t made_from_ = 0;  // pages
  int64_t made_to_ = 0;
};

}  // namespace sheaf
