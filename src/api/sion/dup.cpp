// Duplicates of handles: further readers of the same open multifile, made and released without communication.
#include <algorithm>

#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/handle.hpp"
#include "api/sion/handles/report.hpp"
#include "api/sion/opening.hpp"
#include "set/duplicate_reader.hpp"

using namespace sheaf;
using namespace sheaf::api;

namespace {

std::unique_ptr<DuplicateReader> duplicate(Handle& handle, bool one, int64_t rank) {
  std::vector<OpenTask> tasks;
  if (auto* reader = handle.as<ParallelReader>()) {  // has one task: programs pass any rank, also -1
    ReadStream& stream = reader->stream();
    tasks.push_back({reader->task(), reader->facts(), stream.shared_file(), stream.geometry(),
                     stream.sizes().all(), stream.park()});
  } else if (auto* mapped = handle.as<MappedReader>()) {
    const bool own =
        std::ranges::any_of(mapped->tasks(), [&](const MappedTask& t) { return t.task == rank; });
    const int64_t wanted = own ? rank : mapped->task();
    for (size_t i = 0; i < mapped->tasks().size(); ++i)
      if (!one || mapped->tasks()[i].task == wanted) tasks.push_back(mapped->open_task(i));
  } else {
    throw Error(Code::wrong_mode,
                "'" + handle.path() + "': only handles opened in parallel for reading can be duplicated");
  }
  size_t current = 0;
  for (size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].task == handle.task()) current = i;
  return std::make_unique<DuplicateReader>(std::move(tasks), current, handle.ntasks(),
                                           handle.reader->max_buffer());
}

}  // namespace

int sion_dup(int sid, int mode, int rank, uint64_t key) {
  Handle* h = find_handle(sid);
  return guarded("sion_dup", h ? h->task() : -1, -1, [&] {
    Handle& original = get_handle(sid);
    const bool one = mode == SION_DUP_RANK || mode == SION_DUP_RANK_KEY;
    OpenMode how;
    how.posix = original.posix;
    how.stream = original.through_library;
    auto copy = std::make_unique<Handle>(original.store, duplicate(original, one, rank), how);
    if (mode == SION_DUP_RANK_KEY) copy->only_key = key;
    if (original.keys) copy->keys = std::make_unique<KeyvalReader>(*original.keys, *copy->reader);
    return add_handle(copy);
  });
}

int sion_dedup(int sid) {
  Handle* h = find_handle(sid);
  if (!h) return guarded("sion_dedup", -1, -1, [&] { return get_handle(sid).task(); });
  return guarded("sion_dedup", h->task(), SION_NOT_SUCCESS, [&] {
    if (!h->as<DuplicateReader>()) throw Error(Code::wrong_mode, "the handle is no duplicate");
    const std::unique_ptr<Handle> handle = remove_handle(sid);
    const SecondStream second(*handle);
    handle->as<DuplicateReader>()->close();
    return SION_SUCCESS;
  });
}
