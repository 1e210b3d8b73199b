#include "api/sfio/memory.hpp"

#include <cerrno>
#include <map>
#include <memory>
#include <mutex>

#include "api/sfio/exported.hpp"
#include "api/sfio/runtime.hpp"
#include "storage/lent_memory.hpp"

namespace sheaf::sfio {

namespace {

struct Allocated {
  std::mutex mutex;
  std::map<void*, std::unique_ptr<LendableMemory>> memories;  // by where they begin
};

// Never destroyed: memory may be used while the process exits.
Allocated& allocated() {
  static auto* const all = new Allocated;
  return *all;
}

void* allocate(size_t bytes) {
  auto memory = LendableMemory::make(bytes > 0 ? bytes : 1);
  if (!memory) throw os_error("cannot allocate " + std::to_string(bytes) + " bytes for", "sfio_malloc", ENOMEM);
  void* const at = memory->bytes().data();
  if (Runtime* const session = Runtime::current()) {
    const std::lock_guard hold(session->link()->lock());
    session->link()->begin_loan(memory->lent());
  }
  Allocated& all = allocated();
  const std::lock_guard lock(all.mutex);
  all.memories.emplace(at, std::move(memory));
  return at;
}

void release(void* at) {
  Allocated& all = allocated();
  std::unique_ptr<LendableMemory> memory;
  {
    const std::lock_guard lock(all.mutex);
    const auto found = all.memories.find(at);
    if (found == all.memories.end()) throw Error(Code::invalid_argument, "that memory is not of sfio_malloc()");
    memory = std::move(found->second);
    all.memories.erase(found);
  }
  if (Runtime* const session = Runtime::current()) {
    const std::lock_guard hold(session->link()->lock());
    session->link()->end_loan(memory->lent());
  }
}

}  // namespace

void lend_allocated(Link& link) {
  Allocated& all = allocated();
  const std::lock_guard lock(all.mutex);
  const std::lock_guard hold(link.lock());
  for (const auto& [at, memory] : all.memories) link.begin_loan(memory->lent());
}

}  // namespace sheaf::sfio

using namespace sheaf::sfio;

void* sfio_malloc(size_t bytes) {
  return guarded("sfio_malloc", static_cast<void*>(nullptr), [&] { return allocate(bytes); });
}

int sfio_free(void* memory) {
  if (!memory) return 0;
  return guarded("sfio_free", -1, [&] {
    release(memory);
    return 0;
  });
}
