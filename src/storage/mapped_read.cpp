#include "storage/mapped_read.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "storage/posix_transfer.hpp"

namespace sheaf {

namespace {

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  // Linux 5.14; older ones refuse it
#endif

bool is_cached(void* start, size_t length, size_t page) {
  std::vector<unsigned char> pages((length + page - 1) / page);
  return ::mincore(start, length, pages.data()) == 0 &&
         std::all_of(pages.begin(), pages.end(), [](unsigned char state) { return (state & 1) != 0; });
}

// The last page goes on behind the end of the file.
bool has_bytes_to(int fd, int64_t end) {
  struct stat found;
  return ::fstat(fd, &found) == 0 && found.st_size >= end;
}

}  // namespace

MappedRead::MappedRead(int fd, int64_t offset, size_t length) {
  if (length == 0) return;
  static const auto page = static_cast<int64_t>(::sysconf(_SC_PAGESIZE));
  const int64_t ahead = offset % page;
  mapped_ = static_cast<size_t>(ahead) + length;
  void* const at = ::mmap(nullptr, mapped_, PROT_READ, MAP_SHARED, fd, offset - ahead);
  if (at == MAP_FAILED) return;
  // Pages that are in when this returns cannot fail to come in later, where that would be a SIGBUS.
  if (is_cached(at, mapped_, static_cast<size_t>(page)) &&
      uninterrupted([&] { return ::madvise(at, mapped_, MADV_POPULATE_READ); }) == 0 &&
      has_bytes_to(fd, offset + static_cast<int64_t>(length))) {
    start_ = at;
    bytes_ = {static_cast<const std::byte*>(at) + ahead, length};
  } else {
    ::munmap(at, mapped_);
  }
}

MappedRead::~MappedRead() {
  if (start_) ::munmap(start_, mapped_);
}

}  // namespace sheaf
