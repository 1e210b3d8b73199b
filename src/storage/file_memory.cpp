#include "storage/file_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "base/checked.hpp"
#include "storage/posix_transfer.hpp"

namespace sheaf {

namespace {

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; older ones refuse it
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1
#endif

constexpr int64_t largest_page = 4 << 20;
constexpr int64_t usual_border = 64 << 10;
constexpr int64_t most_mapped = int64_t{1} << 46;  // less than addresses there are

int64_t page_size() {
  static const auto page = static_cast<int64_t>(::sysconf(_SC_PAGESIZE));
  return page;
}

int64_t border() { return std::max(large_page(), usual_border); }

bool is_hole(int fd, int64_t from, int64_t to) {
  const off_t data = ::lseek(fd, from, SEEK_DATA);
  return data >= to || (data < 0 && errno == ENXIO);
}

}  // namespace

int64_t large_page() {
  static const int64_t size = [] {
    int64_t found = 0;
    std::ifstream("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size") >> found;
    return found <= largest_page ? found : 0;
  }();
  return size;
}

FileMemory::FileMemory(int fd, int64_t low, int64_t high) : fd_(fd), begin_(low - low % border()), end_(high) {
  if (low >= high) return;
  // A large page is mapped as one where both the file and the address are on its border.
  const auto align = static_cast<size_t>(border());
  const auto rounded = align_up(high - begin_, border());
  if (!rounded || *rounded > most_mapped) return;
  const auto wanted = static_cast<size_t>(*rounded);
  void* const room = ::mmap(nullptr, wanted + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return;
  mapped_ = room;
  length_ = wanted + align;
  auto* const start = static_cast<std::byte*>(room) + (align - reinterpret_cast<uintptr_t>(room) % align) % align;
  if (::mmap(start, wanted, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, begin_) != MAP_FAILED) start_ = start;
}

FileMemory::~FileMemory() {
  if (mapped_) ::munmap(mapped_, length_);
}

// By a call that never shortens what others have made longer.
bool FileMemory::reach(int64_t end) {
  struct stat found;
  if (::fstat(fd_, &found) != 0) return false;
  return found.st_size >= end || uninterrupted([&] { return ::fallocate(fd_, 0, end - 1, 1); }) == 0;
}

bool FileMemory::make_large(int64_t offset) {
  const int64_t size = large_page();
  if (size == 0) return false;
  // The kernel makes one only where something is.
  return bring(offset, offset + 1) &&
         uninterrupted([&] { return ::madvise(at(offset - offset % size), static_cast<size_t>(size), MADV_COLLAPSE); }) == 0;
}

bool FileMemory::bring(int64_t from, int64_t to) {
  from -= from % page_size();
  return uninterrupted([&] { return ::madvise(at(from), static_cast<size_t>(to - from), MADV_POPULATE_WRITE); }) == 0;
}

bool write_mapped(int fd, std::span<const std::span<const std::byte>> parts, size_t length, int64_t offset) {
  if (length == 0) return true;
  const int64_t end = offset + static_cast<int64_t>(length);
  FileMemory memory(fd, offset, end);
  if (!memory || !memory.reach(end) || !memory.bring(offset, end)) return false;
  std::byte* to = memory.at(offset);
  for (const auto& part : parts)
    if (!part.empty()) to = static_cast<std::byte*>(std::memcpy(to, part.data(), part.size())) + part.size();
  return true;
}

bool LargePages::expect(int fd, int64_t offset, int64_t length) {
  const int64_t size = large_page();
  const std::unique_lock lock(lock_, std::try_to_lock);
  if (size == 0 || length <= 0 || !lock) return false;
  if (offset != run_to_) run_from_ = offset;
  const int64_t end = run_to_ = offset + length;
  if (end - run_from_ < size) return false;
  for (int64_t begin = offset - offset % size; begin < end; begin += size) {
    const bool is_made = begin >= made_from_ && begin < made_to_;
    if (is_made || begin < run_from_ || !is_hole(fd, begin, begin + size)) continue;
    FileMemory memory(fd, begin, begin + size);
    const int64_t first = std::max(begin, offset);
    if (!memory || !memory.reach(std::min(begin + size, end)) || !memory.make_large(first)) break;
    if (made_to_ != begin) made_from_ = begin;
    made_to_ = begin + size;
  }
  return offset >= made_from_ && end <= made_to_;
}

}  // namespace sheaf
