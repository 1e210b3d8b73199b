// Releases a handle without closing: the multifile stays as after the death of the program.
#include <string>

#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/guard.hpp"
#include "api/sion/handles/handle.hpp"
#include "comm/agree.hpp"
#include "format/header.hpp"
#include "multifile/journal/journal_file.hpp"
#include "storage/store.hpp"

using namespace sheaf;
using namespace sheaf::api;

int sheaf_abandon(int sid) {
  return succeeds("sheaf_abandon", -1, [&] {
    get_handle(sid);
    std::unique_ptr<SionHandle> handle = remove_handle(sid);
    const std::shared_ptr<Store> store = handle->store;
    const std::unique_ptr<AtomicName> unnamed = std::move(handle->closing.atomic);
    const int32_t nfiles = handle->facts().nfiles;
    handle.reset();
    // Every task removes the files. If one task alone removed them, another task could flush later and
    // recreate its journal.
    for (int32_t k = 0; unnamed && k < nfiles; ++k) {
      const std::string name = format::physical_name(unnamed->temporary, k);
      multifile::remove_leftovers(*store, name);
      attempt([&] { store->remove(name); });  // fails if this task created none or another task was first
    }
  });
}
