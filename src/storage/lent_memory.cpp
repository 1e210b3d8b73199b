#include "storage/lent_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <utility>

#include "base/random.hpp"

namespace sheaf {

namespace {

size_t place_of_secret(size_t bytes) { return (bytes + sizeof(int64_t) - 1) / sizeof(int64_t) * sizeof(int64_t); }

// Other processes may read or change it.
std::atomic_ref<int64_t> secret_of(std::byte* mapping, size_t bytes) {
  return std::atomic_ref(*reinterpret_cast<int64_t*>(mapping + place_of_secret(bytes)));
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

}  // namespace

size_t lendable_size(size_t bytes) { return place_of_secret(bytes) + sizeof(int64_t); }

void make_lendable(std::byte* mapping, size_t bytes) {
  secret_of(mapping, bytes).store(static_cast<int64_t>(random_number()));
}

LentMemory lend(std::byte* mapping, size_t bytes, int descriptor) {
  return {{mapping, bytes}, {getpid(), descriptor, static_cast<int64_t>(bytes), secret_of(mapping, bytes).load()}};
}

// The bytes here may be a part of what the facts are of.
void call_back(const LentMemory& memory) { make_lendable(memory.bytes.data(), static_cast<size_t>(memory.facts.bytes)); }

std::unique_ptr<LendableMemory> LendableMemory::make(size_t bytes) {
  if (bytes > static_cast<size_t>(INT64_MAX / 2)) return nullptr;
  Descriptor file(memfd_create("sheaf", MFD_CLOEXEC));
  // Allocated now: a lack of memory would else show as a signal later.
  if (file.number() < 0 || posix_fallocate(file.number(), 0, static_cast<off_t>(lendable_size(bytes))) != 0) return nullptr;
  void* const mapping = mmap(nullptr, lendable_size(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (mapping == MAP_FAILED) return nullptr;
  make_lendable(static_cast<std::byte*>(mapping), bytes);
  return std::unique_ptr<LendableMemory>(new LendableMemory(static_cast<std::byte*>(mapping), bytes, file.release()));
}

LendableMemory::~LendableMemory() {
  munmap(mapping_, lendable_size(bytes_));
  ::close(descriptor_);
}

LentMemory LendableMemory::lent() const { return lend(mapping_, bytes_, descriptor_); }

std::unique_ptr<BorrowedMemory> BorrowedMemory::map(const LoanFacts& facts) {
  if (facts.process <= 0 || facts.descriptor < 0 || facts.bytes <= 0 || facts.bytes > INT64_MAX / 2) return nullptr;
  const std::string path = "/proc/" + std::to_string(facts.process) + "/fd/" + std::to_string(facts.descriptor);
  const auto bytes = static_cast<size_t>(facts.bytes);
  struct stat found {};
  // Looked at first: to open anything else may have consequences.
  if (::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return nullptr;
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (file.number() < 0 || fstat(file.number(), &found) != 0) return nullptr;
  if (static_cast<size_t>(found.st_size) < lendable_size(bytes)) return nullptr;
  void* const mapping = mmap(nullptr, lendable_size(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (mapping == MAP_FAILED) return nullptr;
  std::unique_ptr<BorrowedMemory> memory(new BorrowedMemory(static_cast<std::byte*>(mapping), bytes));
  return memory->is_lent(facts) ? std::move(memory) : nullptr;
}

bool BorrowedMemory::is_lent(const LoanFacts& facts) const { return secret_of(mapping_, bytes_).load() == facts.secret; }

BorrowedMemory::~BorrowedMemory() { munmap(mapping_, lendable_size(bytes_)); }

}  // namespace sheaf
