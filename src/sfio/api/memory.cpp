// sfio/api/memory: allocates the memory of sfio_malloc(), which listeners on this host access directly.
#include <cerrno>
#include <map>
#include <memory>
#include <mutex>

#include "base/os/lent_memory.hpp"
#include "sfio/api/exported.hpp"
#include "sfio/api/runtime.hpp"

namespace sheaf::sfio {

namespace {

// Memory lent to listeners during the lifetime of the object.
struct Allocated {
  explicit Allocated(std::unique_ptr<LendableMemory> made) : memory(std::move(made)), loan(memory->lent()) {}
  // Revokes the loan; listeners that have mapped the memory detect this and unmap it.
  ~Allocated() { call_back(memory->lent()); }

  const std::unique_ptr<LendableMemory> memory;
  const Loan loan;
};

// Allocations by start address. Never destroyed, because memory may be used while the process exits.
std::map<void*, Allocated>& memories() {
  static auto* const all = new std::map<void*, Allocated>;
  return *all;
}

}  // namespace

}  // namespace sheaf::sfio

using namespace sheaf;
using namespace sheaf::sfio;

void* sfio_malloc(size_t bytes) {
  return guarded(std::nullopt, "sfio_malloc", static_cast<void*>(nullptr), [&] {
    auto made = LendableMemory::make(bytes > 0 ? bytes : 1);
    if (!made)
      throw os_error("cannot allocate " + std::to_string(bytes) + " bytes for", "sfio_malloc", ENOMEM);
    void* const at = made->bytes().data();
    memories().try_emplace(at, std::move(made));
    return at;
  });
}

int sfio_free(void* memory) {
  if (!memory) return 0;
  return guarded(std::nullopt, "sfio_free", -1, [&] {
    if (memories().erase(memory) == 0)
      throw Error(Code::invalid_argument, "that memory is not of sfio_malloc()");
  });
}
