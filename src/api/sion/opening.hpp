// api/sion/opening: the common part of the open calls of all families. The families differ in the origin of
// their Comm.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "api/sion/handles/handle.hpp"
#include "base/export.hpp"
#include "comm/comm.hpp"
#include "multifile/metadata/parallel_open.hpp"

namespace sheaf::api {

// Throws invalid_argument with this text if `holds` is false.
void need(bool holds, const char* text);

// Warns about unknown words of the open mode.
void report_unknown_words(const char* function, const multifile::OpenMode& mode, int task);

// Reports properties of a file opened for reading. Warns if the open mode and the file disagree on key-value
// records, and if the file was never closed.
void report_found(const char* function, const multifile::OpenMode& mode, const multifile::Reader& reader,
                  const std::string& path, int task);

// If `fileptr` is not null, sets *fileptr to the program's stream, or to NULL in posix mode.
void give_stream(SionHandle& handle, FILE** fileptr);

// Parses the open mode and adds the words of the environment. Only the first task calls it, so that the
// environment of other tasks has no effect.
multifile::OpenMode mode_with_environment(const char* file_mode);

// Acquires the multifile `path` (multifile/journal/ownership) on the first task, before an open for writing
// changes anything. Local. Returns null if `mode` does not write, or if ownership is not available. Throws
// `foreign`.
std::shared_ptr<multifile::Ownership> take_ownership(const std::shared_ptr<Store>& store,
                                                     const std::string& path,
                                                     const multifile::OpenMode& mode);
// Notes that an asynchronous mode has chosen another number of physical files than the call.
void tell_files_chosen(const char* function, const multifile::OpenMode& mode, int given, int chosen);

// What an open for writing finds and acquires under a name.
struct AcquiredName {
  std::shared_ptr<multifile::Ownership> ownership;  // see take_ownership()
  saves::EarlierSave earlier;
};
// Acquires the multifile as take_ownership() does, after saves of this process in the background, and resumes
// those that ended jobs have left.
AcquiredName acquire_name(const std::shared_ptr<Store>& store, const std::string& path,
                          const multifile::OpenMode& mode);
// Stores the ownership in the handle until the close. `ownership` is null on all tasks but the first. No
// effect on a handle open for reading.
void keep_ownership(SionHandle& handle, std::shared_ptr<multifile::Ownership> ownership);

// Warns if the library has detected that the program wrote beyond the chunk of the current task through its
// own stream (ChunkWriter::take_overrun). Warns once for each detection.
void report_overrun(const char* function, SionHandle& handle);

// Arguments of a parallel open, as in the C interface (sion_mpi.h).
struct ParallelOpen {
  const char* function;
  const char* fname;
  const char* file_mode;
  int* numfiles;
  bool has_local;          // the caller passed a variable for the local communicator
  bool has_group = false;  // the variable holds a group; otherwise all tasks form one
  // Creates the local group; null if the open has no local groups. Collective over all tasks.
  std::function<std::unique_ptr<Comm>(Comm&)> local = {};
  long long* chunksize;
  int* fsblksize;
  int* globalrank = nullptr;
  FILE** fileptr;
  char** newfname;
  bool may_collect = true;                   // this task may be the first of a group that writes collectively
  bool shares = false;                       // tasks of this process share a descriptor per physical file
  multifile::NameOf name_of = {};            // names of physical files if they differ from the format's
  multifile::Reader::MeansOf means_of = {};  // reading: means of collective calls
  // Changes the agreed mode, identically on all tasks. Collective.
  std::function<void(Comm&, multifile::OpenMode&)> adjust = {};
  // Writing: selects the physical files; if null, the request and the mode select them. Collective. Throws on
  // all tasks alike.
  std::function<void(Comm&, multifile::ParallelWriteRequest&, const multifile::OpenMode&)> place = {};
};

// Returns the store for the files of the multifile `fname`; it stays valid if the current directory changes.
// If `named` is true, the caller names the physical files. If `shares` is true, all tasks of this process
// share one descriptor per physical file.
std::shared_ptr<Store> store_for(const char* fname, bool named, bool shares);

// Preparations of a task before the tasks agree on an open.
struct OpenStart {
  std::optional<Error> problem = std::nullopt;
  std::shared_ptr<Store> store = nullptr;
  std::shared_ptr<multifile::Ownership> ownership =
      nullptr;                      // on the first task; null if it is not available
  saves::EarlierSave earlier = {};  // on the first task
};

// Makes the store and, on the first task, acquires the multifile. Local. Keeps an error in `problem`, which
// on input is that of the arguments; does nothing if there is one. `Call` is ParallelOpen or MappedOpen.
template <class Call>
OpenStart start_open(const Call& call, int task, std::optional<Error> problem) {
  OpenStart start;
  start.problem = std::move(problem);
  if (start.problem) return start;
  start.problem = attempt([&] {
    start.store = store_for(call.fname, call.name_of != nullptr, call.shares);
    if (task != 0) return;
    AcquiredName name = acquire_name(start.store, call.fname, mode_with_environment(call.file_mode));
    start.ownership = std::move(name.ownership);
    start.earlier = std::move(name.earlier);
  });
  return start;
}

// Returns the mode that all tasks agree on, as multifile::agree_on_call(). Collective; throws on all tasks.
// `has_extras`: this task has local steps that can fail after the open; on output, any task has.
template <class Call>
multifile::OpenMode agree_on_open(Comm& comm, const Call& call, const OpenStart& start,
                                  std::span<const int64_t> same, bool& has_extras) {
  const multifile::Ownership* const ownership = start.ownership.get();
  multifile::AnyTask any{.has_extras = has_extras,
                         .took_over = ownership && ownership->took_over(),
                         .is_local = ownership && ownership->is_local(),
                         .lease = ownership ? ownership->id() : 0};
  const multifile::OpenMode mode = multifile::agree_on_call(
      comm, call.fname ? call.fname : "", call.file_mode ? call.file_mode : "", same, start.problem, &any);
  has_extras = any.has_extras;
  return mode;
}

// Performs the last steps of an open, which may fail on a single task: creates the program's stream, runs
// `more`, and adds the handle to the table. Returns the sid of the handle. On failure releases the handle and
// throws. If `agrees` is true, the call is collective over `comm`, and a failure on one task makes it throw
// on all tasks.
int enter_opened(Comm& comm, bool agrees, std::unique_ptr<SionHandle> handle, FILE** stream,
                 const std::function<void(SionHandle&)>& more);

// Performs the part of an open for writing that asynchronous modes add (multifile/saves/begin_save). Returns
// null in other modes. Collective.
std::unique_ptr<saves::BegunSave> begin_background(Comm& comm, const multifile::OpenMode& mode,
                                                   const AtomicName* name, const OpenStart& start);
// Returns the store for the files of the multifile.
inline std::shared_ptr<Store> store_of(const OpenStart& start, const saves::BegunSave* save) {
  return save ? std::shared_ptr<Store>(save->store) : start.store;
}

// Opens a parallel multifile. Collective over `comm`. Returns a sid, or -1 on every task.
SHEAF_EXPORT int open_parallel(std::unique_ptr<Comm> comm, const ParallelOpen& call);

// Closes a handle opened by family `by`. Collective. Returns 1, -1 if the handle is invalid, 0 on any other
// error.
SHEAF_EXPORT int close_parallel(const char* function, int sid, OpenedBy by = OpenedBy::parallel);
// Performs the common part of every close, including streams and the handle table. Throws on error. The call
// is collective if the open was collective. Returns the save that continues in the background, or null.
std::shared_ptr<saves::TaskSave> close_handle(const char* function, int sid, SionHandle& handle);
SHEAF_EXPORT int reinit_parallel(const char* function, int sid, long long chunksize);

// Returns the job end of the tasks that opened the handle; an empty one for serial handles and duplicates.
JobEnd job_end_of(SionHandle& handle);
// Returns the Comm of all tasks of a parallel multifile, or null.
SHEAF_EXPORT Comm* comm_of(int sid);

}  // namespace sheaf::api
