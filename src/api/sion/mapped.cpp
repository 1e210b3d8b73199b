#include "api/sion/mapped.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include "api/sion/array_out.hpp"
#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/guard.hpp"
#include "api/sion/opening.hpp"
#include "multifile/metadata/parallel_open.hpp"
#include "sfio/striped_store.hpp"

namespace sheaf::api {

using multifile::OpenMode;
using multifile::OwnTask;
using multifile::Writer;

namespace {

// Validates the arguments and sets `own`, the mode requested by this process.
std::optional<Error> check_arguments(const MappedOpen& call, OpenMode& own) {
  return attempt([&] {
    need(call.fname, "No file name given");
    own = multifile::parse_open_mode(call.file_mode ? call.file_mode : "");
    need(call.numfiles, "No numFiles variable given");
    need(call.nlocaltasks, "No nlocaltasks variable given");
    if (own.creates()) {
      need(call.fsblksize, "No fsblksize variable given");
      need(*call.nlocaltasks >= 0, "the number of local tasks is negative");
      const auto given = [&](auto** array) { return *call.nlocaltasks == 0 || (array && *array); };
      need(given(call.globalranks), "No global ranks given");
      need(given(call.chunksizes), "No chunk sizes given");
      need(given(call.filenumbers), "No file numbers given");
      need(given(call.local_ranks), "No local ranks given");
    } else {
      need(*call.nlocaltasks >= -1, "the number of local tasks must be -1 (automatic) or more");
      need(*call.nlocaltasks <= 0 || (call.globalranks && *call.globalranks), "No global ranks given");
    }
  });
}

std::unique_ptr<SionHandle> open_mapped_to_write(std::unique_ptr<Comm> comm, const MappedOpen& call,
                                                 const OpenStart& start, const OpenMode& mode) {
  std::vector<multifile::MappedWriteTask> tasks;
  const auto n = static_cast<size_t>(*call.nlocaltasks);
  for (size_t i = 0; i < n; ++i)
    tasks.push_back(
        {(*call.globalranks)[i], (*call.chunksizes)[i], {(*call.filenumbers)[i], (*call.local_ranks)[i]}});
  auto atomic =
      begin_atomic(*comm, mode, call.fname, *start.store, call.name_of != nullptr, start.ownership.get());
  const multifile::MappedWriteRequest request{atomic ? atomic->temporary : call.fname,
                                              *call.numfiles,
                                              *call.fsblksize,
                                              tasks,
                                              call.name_of,
                                              call.fname};
  auto save = begin_background(*comm, mode, atomic.get(), start);
  const auto store = store_of(start, save.get());
  auto writer = std::make_unique<Writer>(*store, std::move(comm), request, mode);
  auto handle = std::make_unique<SionHandle>(store, std::move(writer), mode);
  handle->closing.atomic = std::move(atomic);
  handle->closing.save = std::move(save);
  return handle;
}

// Opens an existing multifile for reading or appending.
std::unique_ptr<SionHandle> open_mapped_again(std::unique_ptr<Comm> comm, const MappedOpen& call,
                                              const OpenStart& start, const OpenMode& mode) {
  multifile::MappedReadRequest request{call.fname, *call.nlocaltasks < 0, {}, call.name_of};
  std::vector<int64_t> tasks;
  for (int i = 0; i < *call.nlocaltasks; ++i) tasks.push_back((*call.globalranks)[i]);
  request.tasks = tasks;
  if (mode.append) {
    const multifile::MappedAppendRequest to_append{request, 0,
                                                   start.ownership ? start.ownership->right() : nullptr};
    return std::make_unique<SionHandle>(
        start.store, std::make_unique<Writer>(*start.store, std::move(comm), to_append, mode), mode);
  }
  return std::make_unique<SionHandle>(
      start.store, std::make_unique<multifile::Reader>(*start.store, std::move(comm), request, mode), mode);
}

std::span<const OwnTask> tasks_of(SionHandle& handle) {
  return handle.writes ? handle.writes->tasks() : handle.reads->tasks();
}

struct MappedResults {
  MappedResults(const MappedOpen& call, std::span<const OwnTask> tasks)
      : ranks(call.globalranks, tasks.size()),
        sizes(call.chunksizes, tasks.size()),
        files(call.filenumbers, tasks.size()),
        local_ranks(call.local_ranks, tasks.size()) {
    for (size_t i = 0; i < tasks.size(); ++i) {
      ranks.set(i, tasks[i].task);
      sizes.set(i, tasks[i].geometry.size);
      files.set(i, tasks[i].place.file);
      local_ranks.set(i, tasks[i].place.local_rank);
    }
  }
  void give() {
    ranks.give();
    sizes.give();
    files.give();
    local_ranks.give();
  }
  ArrayOut<int> ranks;
  ArrayOut<long long> sizes;
  ArrayOut<int> files;
  ArrayOut<int> local_ranks;
};

}  // namespace

int open_mapped(std::unique_ptr<Comm> owned, const MappedOpen& call) {
  const int process = owned->rank();
  return guarded_together(call.function, process, owned->job_end(), -1, [&] {
    OpenMode own;
    OpenStart start = start_open(call, process, check_arguments(call, own));
    int64_t same[2] = {};
    if (!start.problem && own.creates()) {
      same[0] = *call.numfiles;
      same[1] = *call.fsblksize;
    }
    bool has_extras = false;  // unused: the second agreement is always made
    const OpenMode mode = agree_on_open(*owned, call, start, same, has_extras);
    if (process == 0) report_unknown_words(call.function, mode, process);
    Comm& comm = *owned;
    const auto open = mode.creates() ? open_mapped_to_write : open_mapped_again;
    auto handle = open(std::move(owned), call, start, mode);
    handle->opened.by = OpenedBy::mapped;
    keep_ownership(*handle, std::move(start.ownership));
    if (process == 0 && !mode.writes())
      report_found(call.function, mode, *handle->reads, call.fname, process);
    std::unique_ptr<MappedResults> results;
    SionHandle& opened = *handle;
    const int sid = enter_opened(comm, true, std::move(handle), call.fileptr, [&](SionHandle&) {
      if (!mode.creates()) results = std::make_unique<MappedResults>(call, tasks_of(opened));
    });
    if (results) {
      results->give();
      *call.nlocaltasks = static_cast<int>(tasks_of(opened).size());
    }
    *call.numfiles = opened.facts().nfiles;
    if (call.fsblksize && opened.facts().fsblksize > 0) *call.fsblksize = opened.facts().fsblksize;
    return sid;
  });
}

}  // namespace sheaf::api
