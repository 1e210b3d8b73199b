// metadata/physical_file: the metadata of one physical file, or of a set of them. For the serial handles and
// the tools; parallel tasks read their own slices instead (set/set_tables).
//
// Metadata that take little are held, others are read again where they are asked for: whatever a file claims,
// memory is bounded by what the loader says, plus a few MiB for whoever goes through the tasks
// (metadata/task_rows.hpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/export.hpp"
#include "layout/slices.hpp"
#include "metadata/constants.hpp"
#include "metadata/metadata_io.hpp"
#include "metadata/task_table.hpp"
#include "stream/plain_file.hpp"

namespace sheaf {

// Bytes of metadata that are held.
inline constexpr int64_t held_by_tools = 16 << 20;
inline constexpr int64_t held_by_readers = 256 << 20;  // which go from task to task in any order

struct SHEAF_EXPORT PhysicalFile {
  std::shared_ptr<File> file;
  format::Header header;
  format::Pointer pointer;
  std::optional<format::Extension> extension;
  std::shared_ptr<const TaskTable> table;
  std::shared_ptr<PlainFile> plain;  // in a plain view of a compressed file: its blocks, and `file`

  const std::string& path() const { return file->path(); }
  int64_t skip() const { return plain && header.ntasks > 0 ? plain->geometry(0).skip : table->skip(); }
  // One task. Who wants many has FileRows.
  TaskRow row(int64_t local_rank) const;
};

// Loads and checks everything. Throws what MetadataReader throws.
PhysicalFile load_physical_file(Store& store, const std::string& path, Checking checking = Checking::on,
                                int64_t most_held = held_by_tools);

// A multifile: the set that `path` leads, or the single physical file that `path` is.
struct SHEAF_EXPORT Multifile {
  std::string path;
  std::vector<PhysicalFile> files;
  int64_t set_tasks = 0;                   // entries of the mapping of a set; 0 for a single file
  std::vector<layout::Placement> mapping;  // all of them, or none: too much to hold

  int64_t ntasks() const { return is_set() ? set_tasks : files.front().header.ntasks; }
  bool is_set() const { return set_tasks > 0; }
  // Places of tasks [first, first + places.size()).
  void read_places(int64_t first, std::span<layout::Placement> places) const;

  // One task. Who wants many has TaskRows.
  layout::Placement place(int64_t task) const;
  TaskRow row(int64_t task) const;
  const PhysicalFile& file_of(int64_t task) const { return files[static_cast<size_t>(place(task).file)]; }
  const PhysicalFile& file_of(const TaskRow& row) const { return files[static_cast<size_t>(row.place.file)]; }
  int64_t maxblocks() const;  // largest of all files
  // Else what is here is what the journals tell.
  bool closed() const {
    return std::ranges::all_of(files, [](const PhysicalFile& f) { return f.pointer.complete(); });
  }
  // Whether streams of a file are frames; false for a plain view.
  bool compressed() const {
    return std::ranges::any_of(files, [](const PhysicalFile& f) { return f.header.compressed; });
  }
  int64_t data_bytes() const;
  // Chunks whose end a repair has guessed (format::Extension).
  uint64_t guessed_ends() const {
    uint64_t sum = 0;
    for (const PhysicalFile& f : files) sum += f.extension ? f.extension->guessed_ends : 0;
    return sum;
  }
};

// Loads all physical files. Throws damaged if the files do not belong together.
SHEAF_EXPORT Multifile load_multifile(Store& store, const std::string& path, Checking checking = Checking::on,
                                      int64_t most_held = held_by_tools);

// Calls visit(first, places) for all tasks of a set, slice by slice.
template <class Visit>
void for_each_place(const Multifile& multifile, Visit&& visit) {
  layout::for_each_slice<layout::Placement>(0, multifile.ntasks(), metadata_constants::places_at_once,
                                            [&](int64_t first, std::span<layout::Placement> places) {
                                              multifile.read_places(first, places);
                                              visit(first, std::span<const layout::Placement>(places));
                                            });
}

// Loads the stream of a task of `multifile`, at its begin: its plain bytes, compressed or not. The row
// outlives its use.
SHEAF_EXPORT void load_stream(ReadStream& stream, const Multifile& multifile, int64_t task,
                              const TaskRow& row);

// Throws `foreign` if a program has written a physical file anew since it was loaded. For callers that let
// the kernel copy.
void require_unchanged(const Multifile& multifile);

// The same multifile as if it were not compressed (stream/plain_file). Chunk and block sizes, block counts
// and maxblocks are those of the plain data; header and place of the block table stay. Holds about 200 bytes
// per task, and the frames of all tasks. Throws damaged.
Multifile plain_view(Multifile multifile);

}  // namespace sheaf
