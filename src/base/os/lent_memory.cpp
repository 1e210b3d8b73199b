#include "base/os/lent_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/os/random.hpp"

namespace sheaf {

namespace {

size_t place_of_secret(size_t bytes) {
  return (bytes + sizeof(int64_t) - 1) / sizeof(int64_t) * sizeof(int64_t);
}

// Atomic, because other processes may read or change it.
std::atomic_ref<int64_t> secret_of(std::byte* mapping, size_t bytes) {
  return std::atomic_ref(*reinterpret_cast<int64_t*>(mapping + place_of_secret(bytes)));
}

size_t size_with_secret(size_t bytes) { return place_of_secret(bytes) + sizeof(int64_t); }

void set_secret(std::byte* mapping, size_t bytes) {
  secret_of(mapping, bytes).store(static_cast<int64_t>(random_number()));
}

// Maps the first `bytes` of the file and the secret. Returns null on failure.
std::byte* map_file(int descriptor, size_t bytes) {
  void* const mapping =
      mmap(nullptr, size_with_secret(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return mapping == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapping);
}

struct Loans {
  std::mutex mutex;
  std::vector<LentMemory> all;
};

// Never destroyed: memory may be used while the process exits.
Loans& loans() {
  static auto* const known = new Loans;
  return *known;
}

// Compares addresses and sizes, because revoking the memory changes the secret.
auto is_at(const LentMemory& place) {
  return [&place](const LentMemory& one) {
    return one.bytes.data() == place.bytes.data() && one.bytes.size() == place.bytes.size();
  };
}

}  // namespace

Loan::Loan(const LentMemory& memory) : memory_(memory) {
  const std::lock_guard lock(loans().mutex);
  loans().all.push_back(memory);
}

Loan::~Loan() {
  const std::lock_guard lock(loans().mutex);
  const auto found = std::ranges::find_if(loans().all, is_at(memory_));
  if (found != loans().all.end()) loans().all.erase(found);
}

std::optional<LentMemory> find_loan(const std::byte* at) {
  const std::lock_guard lock(loans().mutex);
  for (const LentMemory& memory : loans().all)
    if (at >= memory.bytes.data() && at < memory.bytes.data() + memory.bytes.size()) return memory;
  return std::nullopt;
}

// `memory.bytes` may end before the memory that `memory.facts` describes. The secret follows the whole
// memory, so its place depends on `memory.facts.bytes`.
void call_back(const LentMemory& memory) {
  {
    const std::lock_guard lock(loans().mutex);
    std::erase_if(loans().all, is_at(memory));
  }
  set_secret(memory.bytes.data(), static_cast<size_t>(memory.facts.bytes));
}

std::unique_ptr<LendableMemory> LendableMemory::make(size_t bytes) {
  return over(memfd_create("sheaf", MFD_CLOEXEC), bytes, true);
}

std::unique_ptr<LendableMemory> LendableMemory::over(int descriptor, size_t bytes, bool fresh) {
  if (descriptor < 0) return nullptr;
  // Allocates now; a lack of memory would otherwise raise a signal at a later access.
  const bool there =
      bytes <= static_cast<size_t>(INT64_MAX / 2) &&
      (!fresh || posix_fallocate(descriptor, 0, static_cast<off_t>(size_with_secret(bytes))) == 0);
  std::byte* const mapping = there ? map_file(descriptor, bytes) : nullptr;
  if (!mapping) {
    ::close(descriptor);
    return nullptr;
  }
  if (fresh) set_secret(mapping, bytes);
  return std::unique_ptr<LendableMemory>(new LendableMemory(mapping, bytes, descriptor));
}

LendableMemory::~LendableMemory() {
  munmap(mapping_, size_with_secret(bytes_));
  ::close(descriptor_);
}

LentMemory LendableMemory::lent() const {
  return {bytes(), {getpid(), descriptor_, static_cast<int64_t>(bytes_), secret_of(mapping_, bytes_).load()}};
}

std::unique_ptr<BorrowedMemory> BorrowedMemory::map(const LoanFacts& facts) {
  if (facts.process <= 0 || facts.descriptor < 0 || facts.bytes <= 0 || facts.bytes > INT64_MAX / 2)
    return nullptr;
  const std::string path =
      "/proc/" + std::to_string(facts.process) + "/fd/" + std::to_string(facts.descriptor);
  const auto bytes = static_cast<size_t>(facts.bytes);
  struct stat found {};
  // Checks the type before opening, because opening other files may have side effects.
  if (::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return nullptr;
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return nullptr;
  const bool is_long =
      fstat(file, &found) == 0 && static_cast<size_t>(found.st_size) >= size_with_secret(bytes);
  std::byte* const mapping = is_long ? map_file(file, bytes) : nullptr;
  ::close(file);
  if (!mapping) return nullptr;
  std::unique_ptr<BorrowedMemory> memory(new BorrowedMemory(mapping, bytes));
  return memory->is_lent(facts) ? std::move(memory) : nullptr;
}

bool BorrowedMemory::is_lent(const LoanFacts& facts) const {
  return secret_of(mapping_, bytes_).load() == facts.secret;
}

BorrowedMemory::~BorrowedMemory() { munmap(mapping_, size_with_secret(bytes_)); }

}  // namespace sheaf
