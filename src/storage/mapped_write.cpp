#include "storage/mapped_write.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "storage/posix_transfer.hpp"

namespace sheaf {

namespace {

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; older ones refuse it
#endif

// Makes the file reach `end`, by a call that never shortens what others have made longer.
bool reach(int fd, int64_t end) {
  struct stat found;
  if (::fstat(fd, &found) != 0) return false;
  return found.st_size >= end || uninterrupted([&] { return ::fallocate(fd, 0, end - 1, 1); }) == 0;
}

}  // namespace

bool write_mapped(int fd, std::span<const std::span<const std::byte>> parts, size_t length, int64_t offset) {
  if (length == 0) return true;
  static const auto page = static_cast<int64_t>(::sysconf(_SC_PAGESIZE));
  const int64_t ahead = offset % page;
  if (!reach(fd, offset + static_cast<int64_t>(length))) return false;
  const size_t mapped = static_cast<size_t>(ahead) + length;
  void* const at = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset - ahead);
  if (at == MAP_FAILED) return false;
  // Pages that are in when this returns cannot fail to come in below, where that would be a SIGBUS.
  const bool in = uninterrupted([&] { return ::madvise(at, mapped, MADV_POPULATE_WRITE); }) == 0;
  auto* to = static_cast<std::byte*>(at) + ahead;
  for (const auto& part : parts)
    if (in && !part.empty()) to = static_cast<std::byte*>(std::memcpy(to, part.data(), part.size())) + part.size();
  ::munmap(at, mapped);
  return in;
}

}  // namespace sheaf
