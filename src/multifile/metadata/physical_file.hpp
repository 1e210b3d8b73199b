// multifile/metadata/physical_file: loads the metadata of one physical file or a set, for the serial handles
// and the tools. Parallel tasks read their own slices instead (multifile/reader/set_tables).
//
// Small metadata are held in memory, large metadata are read again on demand. Whatever a file claims, memory
// is bounded by the limit given to the loader, plus a few MiB per iteration over tasks
// (multifile/metadata/task_rows.hpp).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/export.hpp"
#include "layout/slices.hpp"
#include "multifile/frames/plain_file.hpp"
#include "multifile/metadata/constants.hpp"
#include "multifile/metadata/metadata_io.hpp"
#include "multifile/metadata/task_table.hpp"

namespace sheaf::multifile {

// Limits for metadata held in memory, in bytes.
inline constexpr int64_t held_by_tools = 16 << 20;
inline constexpr int64_t held_by_readers = 256 << 20;  // readers access tasks in any order

struct SHEAF_EXPORT PhysicalFile {
  std::shared_ptr<File> file;
  format::Header header;
  format::Pointer pointer;
  std::optional<format::Extension> extension;
  std::shared_ptr<const TaskTable> table;
  std::shared_ptr<PlainFile> plain;  // source of `file` and its blocks in an uncompressed view; else null

  const std::string& path() const { return file->path(); }
  int64_t skip() const { return plain && header.ntasks > 0 ? plain->geometry(0).skip : table->skip(); }
};

// Loads and validates all metadata. Throws what MetadataReader throws.
PhysicalFile load_physical_file(Store& store, const std::string& path, Checking checking = Checking::on,
                                int64_t max_held = held_by_tools);

// A multifile: the set led by file `path`, or the single physical file `path`.
struct SHEAF_EXPORT Multifile {
  std::string path;
  std::vector<PhysicalFile> files;
  int64_t set_tasks = 0;                   // entries of the mapping of a set; 0 for a single file
  std::vector<layout::Placement> mapping;  // all entries, or empty if too large to hold

  int64_t ntasks() const { return is_set() ? set_tasks : files.front().header.ntasks; }
  bool is_set() const { return set_tasks > 0; }
  // Reads the places of tasks [first, first + places.size()).
  void read_places(int64_t first, std::span<layout::Placement> places) const;

  // Return the place and the row of one task. For many tasks, TaskRows is more efficient.
  layout::Placement place(int64_t task) const;
  TaskRow row(int64_t task) const;
  const PhysicalFile& file_of(int64_t task) const { return files[static_cast<size_t>(place(task).file)]; }
  const PhysicalFile& file_of(const TaskRow& row) const { return files[static_cast<size_t>(row.place.file)]; }
  int64_t maxblocks() const;  // maximum over all files
  // Returns false if contents were recovered from a journal.
  bool closed() const {
    return std::ranges::all_of(files, [](const PhysicalFile& f) { return f.pointer.complete(); });
  }
  // Returns true if the streams of a file consist of frames. Returns false for an uncompressed view.
  bool compressed() const {
    return std::ranges::any_of(files, [](const PhysicalFile& f) { return f.header.compressed; });
  }
  int64_t data_bytes() const;
  // Returns the number of chunks with an end that a repair has guessed (format::Extension).
  uint64_t guessed_ends() const {
    uint64_t sum = 0;
    for (const PhysicalFile& f : files) sum += f.extension ? f.extension->guessed_ends : 0;
    return sum;
  }
};

// Loads all physical files. Throws damaged if they do not belong together.
SHEAF_EXPORT Multifile load_multifile(Store& store, const std::string& path, Checking checking = Checking::on,
                                      int64_t max_held = held_by_tools);

// Does the same if the metadata are small (metadata/constants). Otherwise returns nullopt, after it has
// opened file 0 only. Sets `ntasks` to the number of tasks in both cases.
SHEAF_EXPORT std::optional<Multifile> load_small_multifile(Store& store, const std::string& path,
                                                           Checking checking, int64_t& ntasks);

// Calls visit(first, places) for all tasks of a set, slice by slice.
template <class Visit>
void for_each_place(const Multifile& multifile, Visit&& visit) {
  layout::for_each_slice<layout::Placement>(0, multifile.ntasks(), metadata_constants::places_at_once,
                                            [&](int64_t first, std::span<layout::Placement> places) {
                                              multifile.read_places(first, places);
                                              visit(first, std::span<const layout::Placement>(places));
                                            });
}

// Loads the uncompressed bytes of a task of `multifile` into `stream`, positioned at the first one. `row`
// must outlive the stream.
SHEAF_EXPORT void load_stream(ReadStream& stream, const Multifile& multifile, int64_t task,
                              const TaskRow& row);

// Throws `foreign` if a program has rewritten a physical file since it was loaded. Callers that copy within
// the kernel need it, because they do not read through the File that checks this.
void require_unchanged(const Multifile& multifile);

// Returns the multifile as if it were not compressed (multifile/frames/plain_file). Chunk sizes, block sizes,
// block counts and maxblocks are those of the uncompressed data; header and offset of the block table are
// unchanged. Holds about 200 bytes per task, and the frame tables of all tasks. Throws damaged.
Multifile plain_view(Multifile multifile);

}  // namespace sheaf::multifile
