#include "api/sfio/memory.hpp"

#include <cerrno>
#include <map>
#include <memory>
#include <mutex>

#include "api/sfio/exported.hpp"
#include "api/sfio/runtime.hpp"
#include "process/lent_memory.hpp"

namespace sheaf::sfio {

namespace {

using Memories = std::map<void*, std::unique_ptr<LendableMemory>>;  // by where they begin

// Never destroyed: memory may be used while the process exits.
Memories& memories() {
  static auto* const all = new Memories;
  return *all;
}

// The link of the session, if there is one.
void tell(const LendableMemory& memory, void (Link::*what)(const LentMemory&)) {
  Runtime* const session = Runtime::current();
  if (!session) return;
  const std::lock_guard hold(session->link()->lock());
  ((*session->link()).*what)(memory.lent());
}

void* allocate(size_t bytes) {
  auto memory = LendableMemory::make(bytes > 0 ? bytes : 1);
  if (!memory)
    throw os_error("cannot allocate " + std::to_string(bytes) + " bytes for", "sfio_malloc", ENOMEM);
  void* const at = memory->bytes().data();
  tell(*memories().emplace(at, std::move(memory)).first->second, &Link::begin_loan);
  return at;
}

void release(void* at) {
  const auto found = memories().find(at);
  if (found == memories().end()) throw Error(Code::invalid_argument, "that memory is not of sfio_malloc()");
  tell(*found->second, &Link::end_loan);
  memories().erase(found);
}

}  // namespace

void lend_allocated(Link& link) {
  const std::lock_guard hold(link.lock());
  for (const auto& [at, memory] : memories()) link.begin_loan(memory->lent());
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
