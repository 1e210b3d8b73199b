// Duplicates of handles: further readers of the same open multifile, created and released without
// communication.
#include <algorithm>

#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/on_handle.hpp"
#include "api/sion/opening.hpp"

using namespace sheaf;
using namespace sheaf::multifile;
using namespace sheaf::api;

namespace {

// Creates the reader of a duplicate. If `one` is true, the reader has access to task `rank` only. A rank that
// is no task of the handle selects the current task, because programs with one task in each process may pass
// any rank.
std::unique_ptr<Reader> duplicate(SionHandle& handle, bool one, int64_t rank) {
  const bool parallel = handle.opened.by == OpenedBy::parallel || handle.opened.by == OpenedBy::mapped;
  if (!handle.reads || !parallel)
    throw Error(Code::wrong_mode,
                "'" + handle.path() + "': only handles opened in parallel for reading can be duplicated");
  Reader& original = *handle.reads;
  const bool own = std::ranges::any_of(original.tasks(), [&](const OwnTask& t) { return t.task == rank; });
  std::optional<int64_t> only;
  if (one) only = own ? rank : original.task();
  return std::make_unique<Reader>(original, only);
}

}  // namespace

int sion_dup(int sid, int mode, int rank, uint64_t key) {
  return on_handle("sion_dup", sid, -1, [&](SionHandle& original) {
    const bool one = mode == SION_DUP_RANK || mode == SION_DUP_RANK_KEY;
    const OpenMode how{.posix = original.opened.posix, .stream = original.opened.through_library};
    auto copy = std::make_unique<SionHandle>(original.store, duplicate(original, one, rank), how);
    copy->opened.by = OpenedBy::duplicate;
    if (mode == SION_DUP_RANK_KEY) copy->keys.only = key;
    if (original.keys.indexes)
      copy->keys.indexes = std::make_unique<KeyvalReader>(*original.keys.indexes, *copy->reader);
    return add_handle(copy);
  });
}

int sion_dedup(int sid) {
  return on_found_handle("sion_dedup", sid, -1, SION_NOT_SUCCESS, [&](SionHandle& handle) {
    if (handle.opened.by != OpenedBy::duplicate) throw Error(Code::wrong_mode, "the handle is no duplicate");
    close_handle("sion_dedup", sid, handle);
  });
}
