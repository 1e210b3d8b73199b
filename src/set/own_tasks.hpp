// set/own_tasks: the tasks of a multifile that one process has in its hands, and their physical files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "journal/journal_writer.hpp"
#include "layout/chunk_layout.hpp"
#include "layout/placement.hpp"
#include "metadata/edges.hpp"
#include "metadata/row_slices.hpp"
#include "storage/file.hpp"
#include "storage/stdio_handle.hpp"

namespace sheaf {

struct OwnTask {
  int64_t task = 0;  // number in the whole multifile
  layout::Placement place;
  int64_t row = 0;         // in the order of (file, local rank)
  int64_t file_tasks = 0;  // of its physical file
  size_t file = 0;         // index in OwnTasks::files
  layout::ChunkGeometry geometry;
};

// One physical file that this process has open. While the program of a writer shares the stream of another
// file, or of none, `handle` is parked here, and so is its journal.
struct OwnFile {
  int32_t number = 0;
  int64_t own_tasks = 0;
  int64_t file_tasks = 0;
  int32_t fsblksize = 0;
  JournalKey key;
  std::shared_ptr<Edges> edges;  // writing, where hosts do not share a page cache
  std::shared_ptr<File> file;
  std::unique_ptr<StdioHandle> handle;
  std::unique_ptr<JournalWriter> journal;
};

// What a leader learns of a task that is to be written.
struct RequestedRow {
  int64_t row;
  int64_t globalrank;
  int64_t chunk_size;  // requested; then as it is laid out
};

// What it answers.
struct PlacedRow {
  layout::ChunkGeometry geometry;
  int64_t fsblksize;
};

// change() makes a task current in `stream` whose file, or another one, is shared with the program by a
// handle of its own: that of the file before goes to `before`, and that in `after` (the same if the file is)
// is attached, or one is made if there is none. Nothing of this if the program shares none.
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

struct OwnTasks {
  std::vector<OwnTask> tasks;     // in the order of the caller
  std::vector<size_t> by_row;     // indices, ascending by row; empty: as by_number
  std::vector<size_t> by_number;  // indices, ascending by task, then in the caller's order
  std::vector<OwnFile> files;     // ascending by number

  const std::vector<size_t>& row_order() const { return by_row.empty() ? by_number : by_row; }
  // Local. Fills `files` from the places of the tasks, and by_number.
  void index();
  // Collective: counts the tasks of all processes in each file, `own` being what this process adds. Gives
  // every task its row and the size of its file, and segments() of the slice. `check` sees every file first.
  void find_rows(Comm& comm, int32_t nfiles, std::span<const FileShare> own, RowSlices& slices,
                 std::vector<Segment>& segments,
                 const std::function<void(int32_t file, int64_t tasks)>& check);

  size_t find(int64_t task, const std::string& path) const;  // index; throws out_of_range if it is not local
};

}  // namespace sheaf
