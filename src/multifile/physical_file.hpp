// multifile/physical_file: the whole metadata of one physical file, or of a set of them, in memory. For the serial
// handles and the tools; parallel tasks read their own slices instead (multifile/parallel_reader.hpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "multifile/metadata_io.hpp"
#include "multifile/read_stream.hpp"

namespace sheaf {

class PlainFile;

struct PhysicalFile {
  std::shared_ptr<File> file;
  format::Header header;
  format::Pointer pointer;
  std::optional<format::Extension> extension;
  layout::FileLayout layout;
  std::vector<int64_t> globalranks;  // one per local task, as the next two
  std::vector<int64_t> chunk_sizes;
  std::vector<int64_t> block_counts;
  std::vector<SumsPlace> sums;       // empty: the data have no checksums, or nobody wants to compare them
  std::vector<int64_t> block_sizes;  // [block * ntasks + local task]; unused entries as stored (0 or -1)
  std::shared_ptr<PlainFile> plain;  // in a plain view of a compressed file: where the sizes of blocks are, and `file`

  const std::string& path() const { return file->path(); }
  layout::ChunkGeometry geometry(int64_t local_rank) const;
  BlockSizes sizes_of(int64_t local_rank) const;
  SumsPlace sums_of(int64_t local_rank) const { return sums.empty() ? SumsPlace{} : sums[static_cast<size_t>(local_rank)]; }
};

// Loads and checks everything. Memory: bounded by the size of the file. Throws what MetadataReader throws.
PhysicalFile load_physical_file(Store& store, const std::string& path, Checking checking = Checking::on);

// A multifile: the set that `path` leads, or the single physical file that `path` is.
struct Multifile {
  std::string path;
  std::vector<PhysicalFile> files;
  std::vector<layout::Placement> mapping;  // one per task of a set; empty for a single file

  int64_t ntasks() const;
  bool is_set() const { return !mapping.empty(); }
  layout::Placement place(int64_t task) const;
  const PhysicalFile& file_of(int64_t task) const { return files[static_cast<size_t>(place(task).file)]; }
  layout::ChunkGeometry geometry(int64_t task) const;
  BlockSizes sizes_of(int64_t task) const;
  SumsPlace sums_of(int64_t task) const;
  int64_t globalrank(int64_t task) const;
  int64_t maxblocks() const;  // largest of all files
  bool closed() const;        // else what is here is what the journals tell
  bool compressed() const;    // streams of a file are frames; false for a plain view
  int64_t data_bytes() const;
};

// Loads all physical files. Throws damaged if the files do not belong together.
Multifile load_multifile(Store& store, const std::string& path, Checking checking = Checking::on);

// Loads the stream of a task of `multifile`, at its begin: its plain bytes, compressed or not. The multifile outlives its use.
void load_stream(ReadStream& stream, const Multifile& multifile, int64_t task);

// The same multifile as if it were not compressed (multifile/plain_file). Chunk and block sizes, block counts and maxblocks
// are those of the plain data; header and place of the block table stay. Throws damaged.
Multifile plain_view(Multifile multifile);

}  // namespace sheaf
