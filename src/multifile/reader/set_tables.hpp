// multifile/reader/set_tables: reads the metadata of a multifile by many processes. Metadata tasks read
// slices of the arrays (multifile/metadata/metadata_partition) and answer the requests of all processes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "layout/placement.hpp"
#include "multifile/generation/generation.hpp"
#include "multifile/metadata/facts.hpp"
#include "multifile/metadata/metadata_io.hpp"
#include "multifile/metadata/metadata_partition.hpp"
#include "multifile/reader/table_slice.hpp"
#include "multifile/stream/read_stream.hpp"
#include "storage/file.hpp"
#include "storage/retries.hpp"

namespace sheaf::multifile {

// Head of the first physical file.
struct SetLead {
  format::HeaderFields header;
  format::Pointer pointer;
  int64_t ntasks = 0;                               // tasks of the whole multifile
  std::optional<format::Extension> extension = {};  // verified; none if checking is off
  std::optional<format::Identity> identity;         // as stored in the file
  FileIdentity watched = {};  // identity of file 0; its `identity` is common to all files
  bool is_read = false;       // false: process 0 has failed
  bool unclosed = false;      // file 0 or, after read_rows(), any file was never closed

  FileFacts facts() const { return facts_of(header, unclosed); }
  FileIdentity identity_of(int32_t number) const {
    return number == 0 ? watched : FileIdentity{.identity = watched.identity};
  }
};

// A task that a stream can load.
struct Readable {
  int32_t filenumber = 0;   // in its set
  int32_t fsblksize = 0;    // block size of its file, if reported by a metadata task or the one-task reader
  int64_t globalrank = -1;  // -1: not requested
  std::shared_ptr<File> file = {};
  layout::ChunkGeometry geometry = {};
  BlockSizes sizes = {};                  // valid as long as `held`
  std::shared_ptr<const void> held = {};  // owner of the tables that `sizes` refers to
  SumsPlace sums = {};                    // contains the local rank even if there are no checksums
};

// Request of a process to a metadata task.
struct TaskRequest {
  int64_t row;
};

// The partition of the metadata, and the slice that this process reads or writes as a metadata task.
struct PartitionRows {
  std::unique_ptr<MetadataPartition> rows;  // by (file, local rank)
  std::vector<Segment> segments;            // segments in the slice of this process
  std::unique_ptr<TableSlice> old;          // slice as it was read; null unless `appends`
  bool appends = false;                     // the slice is the base of appending
};

class SetTables {
 public:
  SetTables(std::shared_ptr<Store> store, std::string path, NameOf name_of, Checking checking)
      : store_(std::move(store)), path_(std::move(path)), name_of_(std::move(name_of)), checking_(checking) {}

  Store& store() const { return *store_; }
  const std::string& path() const { return path_; }
  std::string name(int32_t number) const { return name_in_set(path_, number, name_of_); }
  // Open physical file `number`, and retry if it is not visible yet. open_member() is for a file that is
  // known only because another file of the set refers to it, and retries for a shorter time.
  std::shared_ptr<File> open(int32_t number) const {
    return open_with_retries(*store_, name(number), Access::read);
  }
  std::shared_ptr<File> open_member(int32_t number) const {
    return open_with_retries(*store_, name(number), Access::read, member_timeout);
  }

  // Reads the head of the first file at process 0 and broadcasts it. Process 0 keeps the file open in `file`.
  // Collective over `comm`. Throws on every process alike.
  SetLead read_lead(Comm& comm, std::shared_ptr<File>& file) const;
  // Returns the places of the tasks in `wanted`, which must be ascending. Collective over `comm`;
  // `numbers` divides the task numbers among its processes. `lead_file` is the file that read_lead() has
  // stored, or null. Throws on every process alike.
  std::vector<layout::Placement> find_places(Comm& comm, MetadataPartition numbers, const SetLead& lead,
                                             std::span<const TaskRequest> wanted,
                                             const std::shared_ptr<File>& lead_file) const;
  // Reads the places of all tasks. Local.
  std::vector<layout::Placement> read_mapping() const;

  // Throws damaged unless the file belongs to the set.
  void check_member(const MetadataReader& reader, const SetLead& lead, int32_t number) const;
  // Returns the rows in `wanted`, which must be ascending, without Readable::filenumber and Readable::file.
  // Collective over `comm`, to which the processes of `tables.rows` belong. Throws on every process alike. As
  // a metadata task, reads `tables.segments`, and also checksums of the data if `tables.appends`. Sets
  // `lead.unclosed` if any process found a file that was never closed.
  //   open(number): returns the file to read from.
  //   problem: earlier error of this process.
  std::vector<Readable> read_rows(Comm& comm, SetLead& lead, PartitionRows& tables,
                                  std::span<const TaskRequest> wanted,
                                  const std::function<std::shared_ptr<File>(int32_t number)>& open,
                                  std::optional<Error> problem = std::nullopt) const;

 private:
  MetadataReader reader_of(File& file) const { return MetadataReader(*store_, file, checking_, name_of_); }
  SegmentSums read_segment(Segment& segment, const SetLead& lead, File& file, TableSlice& table,
                           bool appends) const;

  std::shared_ptr<Store> store_;
  std::string path_;
  NameOf name_of_;
  Checking checking_;
};

}  // namespace sheaf::multifile
