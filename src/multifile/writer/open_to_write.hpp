// multifile/writer/open_to_write: opens a multifile for writing, with one function for each kind of open.
//
// Every function throws on every process alike, and changes nothing on disk if an argument is invalid. If the
// open fails, it removes the files that it created. Existing files are truncated only after all files could
// be opened. `store` must outlive the result. The stream is bound to the file of the first task of the
// process, but the task is not loaded yet (TaskStreams).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "comm/comm.hpp"
#include "layout/placement.hpp"
#include "multifile/collective/collective_group.hpp"
#include "multifile/journal/writing_right.hpp"
#include "multifile/metadata/facts.hpp"
#include "multifile/reader/open_tasks.hpp"
#include "multifile/writer/opened_set.hpp"

namespace sheaf::multifile {

// Request of one process that writes all tasks.
struct SerialWriteRequest {
  std::string path;
  std::span<const int64_t> chunk_sizes;  // requested bytes per task, >= 0
  std::span<const int64_t> globalranks;  // one per task, any values
  int32_t fsblksize = -1;                // bytes; <= 0: the file system's block size
  bool keep_sizes = false;               // stores the sizes unchanged instead of rounding them up to blocks
  std::string stored_name = {};          // name stored in the files; empty: `path`
  // Number of physical files, > 0, filled with consecutive tasks. The open mode (files=) takes precedence.
  int32_t nfiles = 1;
};

// Request of a process that writes one task, as all processes of the multifile do.
struct ParallelWriteRequest {
  std::string_view path;              // outlives the open
  std::string_view stored_name = {};  // name stored in the files; outlives the open; empty: `path`
  // Number of physical files, filled with consecutive tasks. <= 0: one file per `local` group. The open mode
  // (files=) takes precedence.
  int32_t nfiles = 1;
  // Group of this task if nfiles <= 0; null: all tasks form one group.
  std::unique_ptr<Comm> local;
  // >= 0: the caller has assigned the tasks to files. `local` then holds the tasks of physical file
  // `filenumber` of `nfiles`, and the open mode (files=) is ignored. Set on all tasks or on none.
  int32_t filenumber = -1;
  NameOf name_of = {};         // null: names as in docs/format.md
  CollectiveMeans means = {};  // resources of collective calls
  int64_t chunk_size = 0;      // requested bytes of this task, >= 0
  int32_t fsblksize = -1;      // bytes; <= 0: the file system's block size
  bool keeps_chunks = false;   // chunk sizes stay as requested, without space to separate hosts

  std::string_view name_to_store() const { return stored_name.empty() ? path : stored_name; }
};

// A task with a place (file, local rank) chosen by the caller.
struct MappedWriteTask {
  int64_t globalrank = 0;  // 0..M-1 over all processes, each once
  int64_t chunk_size = 0;  // requested bytes, >= 0
  layout::Placement place;
};

struct MappedWriteRequest {
  std::string path;
  int32_t nfiles = 0;  // > 0
  // Bytes; <= 0: block size of the file system, as found by the process with local rank 0.
  int32_t fsblksize = -1;
  std::span<const MappedWriteTask> tasks;  // tasks of this process, may be empty
  NameOf name_of = {};
  std::string stored_name = {};  // name stored in the files; empty: `path`
  bool keep_sizes = false;       // see SerialWriteRequest
};

// A complete multifile to which the processes append.
struct MappedAppendRequest {
  MappedReadRequest tasks;                   // tasks of this process; a task belongs to at most one process
  int64_t ntasks = 0;                        // required number of tasks of the multifile; 0: any
  std::shared_ptr<WritingRight> right = {};  // set at the first task; the others use OpenMode::lease
};

// Creates a multifile in one process.
OpenedSet open_serial(Store& store, const SerialWriteRequest& request, const OpenMode& mode);
// Creates a multifile with one task per process. Collective over `comm`, after agree_on_call() for `mode`.
OpenedSet open_parallel(Store& store, std::unique_ptr<Comm> comm, ParallelWriteRequest request,
                        const OpenMode& mode);
// Creates a multifile with tasks placed by the caller. Collective, after agreement on `mode`, path, nfiles
// and fsblksize. Throws invalid_argument if places or global ranks have gaps or duplicates.
OpenedSet open_mapped(Store& store, std::unique_ptr<Comm> comm, const MappedWriteRequest& request,
                      const OpenMode& mode);
// Opens a multifile to append, collective over `comm` like OpenTasks. Every task is positioned at the end of
// its stream. Overwrites no data. Writes journals of the existing contents and, if hosts are kept apart,
// marks the files as unclosed. Also throws unsupported, mismatch or unclosed for a multifile that
// does not permit appending (docs/api-sion.md, "Append").
OpenedSet open_append(Store& store, std::unique_ptr<Comm> comm, const MappedAppendRequest& request,
                      const OpenMode& mode);

}  // namespace sheaf::multifile
