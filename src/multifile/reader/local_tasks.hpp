// multifile/reader/local_tasks: the tasks of a multifile that one process has open, and their physical files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "layout/chunk_layout.hpp"
#include "layout/placement.hpp"
#include "multifile/journal/journal_writer.hpp"
#include "multifile/metadata/boundary_blocks.hpp"
#include "multifile/metadata/metadata_partition.hpp"
#include "storage/file.hpp"
#include "storage/stdio_handle.hpp"

namespace sheaf::multifile {

struct OwnTask {
  int64_t task = 0;  // number in the whole multifile
  layout::Placement place;
  int64_t row = 0;         // in the order of (file, local rank)
  int64_t file_tasks = 0;  // tasks of its physical file
  size_t file = 0;         // index in LocalTasks::files
  layout::ChunkGeometry geometry;
};

// One physical file that this process has open. While the stream of a writer is bound to another file,
// `handle` and `journal` of this file are parked here. During a close, the journals of all files
// are parked.
struct OwnFile {
  int32_t number = 0;
  int64_t local_tasks = 0;
  int64_t file_tasks = 0;
  int32_t fsblksize = 0;
  JournalKey key;
  std::shared_ptr<BoundaryBlocks>
      boundary_blocks;  // null unless writing on hosts without a common page cache
  std::shared_ptr<File> file;
  std::unique_ptr<StdioHandle> handle;
  std::unique_ptr<JournalWriter> journal;
};

// Request to the metadata writer to place one task of a new multifile.
struct RequestedRow {
  int64_t row;
  int64_t globalrank;
  int64_t chunk_size;  // requested bytes; after the layout: final bytes
};

// Answer of the metadata writer to a RequestedRow.
struct PlacedRow {
  layout::ChunkGeometry geometry;
  int64_t fsblksize;
};

// Calls change(), which must make another task current in `stream`. If the program shares a handle of the
// stream (Stream::share()), also switches that handle. The handle of the previous file moves to `before`. The
// stream then gets the handle in `after`, or a new one if `after` is null. `before` and `after` are the same
// object if both tasks are in one file.
template <class Stream, class Change>
void change_handle(Stream& stream, std::unique_ptr<StdioHandle>& before, std::unique_ptr<StdioHandle>& after,
                   Change&& change) {
  before = stream.release_handle();
  const bool sharing = before != nullptr;
  const bool with_stream = sharing && before->stream();
  change();
  if (!sharing) return;
  if (after) return stream.attach(std::move(after));
  stream.share(with_stream);
}

struct LocalTasks {
  std::vector<OwnTask> tasks;     // in the order of the caller
  std::vector<size_t> by_row;     // indices, ascending by row; empty: same order as by_number
  std::vector<size_t> by_number;  // indices, ascending by task, then in the order of the caller
  std::vector<OwnFile> files;     // ascending by number

  const std::vector<size_t>& row_order() const { return by_row.empty() ? by_number : by_row; }
  // Fills `files` and by_number from the places of the tasks. Local.
  void index();
  // Counts the tasks of each file over all processes; `own` holds the counts of this process. Calls `check`
  // for every file. Then sets `row` and `file_tasks` of every local task. Appends to `segments` the parts of
  // the files that lie in the slice of this process. Collective.
  void find_rows(Comm& comm, int32_t nfiles, std::span<const FileShare> own, MetadataPartition& slices,
                 std::vector<Segment>& segments,
                 const std::function<void(int32_t file, int64_t tasks)>& check);

  // Returns the index of a task. Throws out_of_range, naming `path`, if the task is not local.
  size_t find(int64_t task, const std::string& path) const;
};

}  // namespace sheaf::multifile
