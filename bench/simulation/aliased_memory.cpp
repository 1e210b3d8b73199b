#include "simulation/aliased_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <unordered_map>
#include <vector>

#include "support/fibers/fiber_comm.hpp"

namespace sheaf::simulation {

namespace {

constexpr size_t alias_bytes = 64 << 20;  // large, because the kernel limits the number of mappings

// Returns the descriptor of the memory that all windows share; -1 if there is none.
int alias_file() {
  static const int file = [] {
    const int made = ::memfd_create("windows", MFD_CLOEXEC);
    return made >= 0 && ::ftruncate(made, alias_bytes) == 0 ? made : -1;
  }();
  return file;
}

constexpr size_t page = 4096;

using OwnBytes = std::unordered_multimap<int, std::span<std::byte>>;

// Returns the memory in front of the windows, by task.
OwnBytes& own_bytes() {
  static auto* const all = new OwnBytes;
  return *all;
}

class AliasedMemory final : public SharedMemory {
 public:
  // `own`: bytes in front of the windows.
  AliasedMemory(std::span<std::byte> bytes, int task, size_t own)
      : SharedMemory(yield), bytes_(bytes), own_(own_bytes().emplace(task, bytes.first(own))) {}
  ~AliasedMemory() override {
    own_bytes().erase(own_);
    ::munmap(bytes_.data(), bytes_.size());
  }

  std::span<std::byte> bytes() const override { return bytes_; }

 private:
  const std::span<std::byte> bytes_;
  const OwnBytes::iterator own_;
};

bool is_zero(const std::byte* begin) {
  return *begin == std::byte{} && std::memcmp(begin, begin + 1, page - 1) == 0;
}

}  // namespace

std::shared_ptr<SharedMemory> aliased_memory(int task, size_t bytes) {
  constexpr int access = PROT_READ | PROT_WRITE;
  const size_t own = (bytes / 4 + page - 1) / page * page;
  void* const mapped = ::mmap(nullptr, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const base = static_cast<std::byte*>(mapped);
  auto memory = std::make_shared<AliasedMemory>(std::span(base, bytes), task, std::min(own, bytes));
  for (size_t at = own; at < bytes; at += alias_bytes) {
    const size_t length = std::min(alias_bytes, bytes - at);
    if (::mmap(base + at, length, access, MAP_SHARED | MAP_FIXED, alias_file(), 0) == MAP_FAILED)
      return nullptr;
  }
  return memory;
}

void free_zero_pages(int task) {
  static std::vector<unsigned char> resident;  // reused, because every exchange calls this function
  const auto [first, last] = own_bytes().equal_range(task);
  for (auto one = first; one != last; ++one) {
    const std::span<std::byte> bytes = one->second;
    resident.resize((bytes.size() + page - 1) / page);
    // Reading a page that was never written would allocate it.
    if (::mincore(bytes.data(), bytes.size(), resident.data()) != 0) continue;
    for (size_t at = 0; at < bytes.size();) {
      size_t end = at;
      while (end < bytes.size() && (resident[end / page] & 1) != 0 && is_zero(&bytes[end])) end += page;
      if (end > at) ::madvise(&bytes[at], end - at, MADV_DONTNEED);
      at = end + page;
    }
  }
}

}  // namespace sheaf::simulation
