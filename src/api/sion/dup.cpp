// Duplicates of handles: further readers of the same open multifile, made and released without communication.
#include "api/sion/exported.hpp"
#include "api/sion/handle.hpp"
#include "api/sion/opening.hpp"
#include "api/sion/report.hpp"
#include "multifile/duplicate_reader.hpp"

using namespace sheaf;
using namespace sheaf::api;

namespace {

std::unique_ptr<DuplicateReader> duplicate(Handle& handle, bool one, int64_t rank) {
  std::vector<OpenTask> tasks;
  if (auto* reader = handle.as<ParallelReader>()) {
    if (one) reader->select(rank);
    const BlockSizes& sizes = reader->stream().sizes();
    OpenTask task{reader->task(), reader->facts(), reader->stream().shared_file(), reader->stream().geometry(), {},
                  reader->stream().park()};
    for (int64_t b = 0; b < sizes.count; ++b) task.block_sizes.push_back(sizes[b]);
    tasks.push_back(std::move(task));
  } else if (auto* mapped = handle.as<MappedReader>()) {
    for (size_t i = 0; i < mapped->tasks().size(); ++i)
      if (!one || mapped->tasks()[i].task == rank) tasks.push_back(mapped->open_task(i));
    if (one && tasks.empty())
      throw Error(Code::out_of_range, "'" + handle.path() + "': task " + std::to_string(rank) + " is not one of this process");
  } else {
    throw Error(Code::wrong_mode, "'" + handle.path() + "': only handles opened in parallel for reading can be duplicated");
  }
  size_t current = 0;
  for (size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].task == handle.task()) current = i;
  return std::make_unique<DuplicateReader>(std::move(tasks), current, handle.ntasks(), handle.reader->max_buffer());
}

}  // namespace

int sion_dup(int sid, int mode, int rank, uint64_t key) {
  Handle* h = find_handle(sid);
  return guarded("sion_dup", h ? h->task() : -1, -1, [&] {
    Handle& original = get_handle(sid);
    const bool one = mode == SION_DUP_RANK || mode == SION_DUP_RANK_KEY;
    auto copy = std::make_unique<Handle>(duplicate(original, one, rank), original.posix);
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
