// api/sfio/memory: the memory of sfio_malloc(), which listeners of this machine reach themselves.
#include <cerrno>
#include <map>
#include <memory>
#include <mutex>

#include "api/sfio/exported.hpp"
#include "api/sfio/runtime.hpp"
#include "process/lent_memory.hpp"

namespace sheaf::sfio {

namespace {

// Lent for as long as it lives.
struct Allocated {
  explicit Allocated(std::unique_ptr<LendableMemory> made) : memory(std::move(made)), loan(memory->lent()) {}
  // Listeners that have mapped it see that it is no longer lent, and let go of it.
  ~Allocated() { call_back(memory->lent()); }

  const std::unique_ptr<LendableMemory> memory;
  const Loan loan;
};

// By where they begin. Never destroyed: memory may be used while the process exits.
std::map<void*, Allocated>& memories() {
  static auto* const all = new std::map<void*, Allocated>;
  return *all;
}

}  // namespace

}  // namespace sheaf::sfio

using namespace sheaf;
using namespace sheaf::sfio;

void* sfio_malloc(size_t bytes) {
  return guarded("sfio_malloc", static_cast<void*>(nullptr), [&] {
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
  return succeeds("sfio_free", [&] {
    if (memories().erase(memory) == 0)
      throw Error(Code::invalid_argument, "that memory is not of sfio_malloc()");
  });
}
