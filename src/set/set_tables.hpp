// set/set_tables: the metadata of a multifile that many processes read: leaders read slices of the arrays
// (metadata/row_slices) and answer whoever asks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "layout/placement.hpp"
#include "metadata/facts.hpp"
#include "metadata/metadata_io.hpp"
#include "metadata/row_slices.hpp"
#include "set/table_slice.hpp"
#include "storage/file.hpp"
#include "stream/read_stream.hpp"

namespace sheaf {

// The head of the first physical file.
struct SetLead {
  format::HeaderFields header;
  format::Pointer pointer;
  int64_t ntasks = 0;                          // of the whole multifile
  std::optional<format::Extension> extension;  // where it is checked
  std::optional<format::Identity> identity;    // as it is in the file
  FileIdentity watched;                        // of file 0; `identity` in it is that of all files
  bool is_read = false;                        // else process 0 has failed

  FileFacts facts() const;
  FileIdentity identity_of(int32_t number) const {
    return number == 0 ? watched : FileIdentity{.identity = watched.identity};
  }
};

// What a stream can load: a task, where it is read.
struct Readable {
  int32_t filenumber = 0;   // in its set
  int32_t fsblksize = 0;    // of its file, where leaders or the one-task reader have told it
  int64_t globalrank = -1;  // -1: nobody has asked for it
  std::shared_ptr<File> file = {};
  layout::ChunkGeometry geometry = {};
  BlockSizes sizes = {};                  // as long as somebody has
  std::shared_ptr<const void> held = {};  // this
  SumsPlace sums = {};                    // from leaders with its local rank also where there are none
};

// What a process asks a leader for.
struct TaskRequest {
  int64_t row;
};

class SetTables {
 public:
  SetTables(std::shared_ptr<Store> store, std::string path, NameOf name_of, Checking checking)
      : store_(std::move(store)), path_(std::move(path)), name_of_(std::move(name_of)), checking_(checking) {}

  Store& store() const { return *store_; }
  const std::string& path() const { return path_; }
  std::string name(int32_t number) const { return name_in_set(path_, number, name_of_); }
  // What is known to be there, or named by another file.
  std::shared_ptr<File> open(int32_t number) const;
  std::shared_ptr<File> open_member(int32_t number) const;

  // Collective over `comm`. Process 0 reads it, and keeps `file`. Throws on every process alike.
  SetLead read_lead(Comm& comm, std::shared_ptr<File>& file) const;
  // Collective over the processes of `numbers`, slices of task numbers: where in the set tasks are, which are
  // `wanted` in ascending order. `lead_file`: as read_lead() has kept it, null where it has not. What a
  // leader fails in is its `problem`; an agreement must follow.
  std::vector<layout::Placement> find_places(RowSlices& numbers, const SetLead& lead,
                                             std::span<const TaskRequest> wanted,
                                             const std::shared_ptr<File>& lead_file,
                                             std::optional<Error>& problem) const;
  // Local: that of all tasks.
  std::vector<layout::Placement> read_mapping() const;

  // Throws damaged unless the file belongs to the set.
  void check_member(const MetadataReader& reader, const SetLead& lead, int32_t number) const;
  // Collective over `comm`, to which the processes of `slices` belong. The rows that this process has
  // `wanted`, ascending, without number and file; `table` and `segments` get what it has read as a leader.
  // open(number): the file to read from. appends: checksums of the data are read, too. unclosed: whether any
  // process has found a file that was never closed. `problem`: what has gone wrong here before. Throws on
  // every process alike.
  std::vector<Readable> read_rows(Comm& comm, RowSlices& slices, const SetLead& lead,
                                  std::span<Segment> segments, std::span<const TaskRequest> wanted,
                                  const std::function<std::shared_ptr<File>(int32_t number)>& open,
                                  TableSlice& table, bool appends, bool& unclosed,
                                  std::optional<Error> problem) const;

 private:
  MetadataReader reader_of(File& file) const;
  SegmentSums read_segment(Segment& segment, const SetLead& lead, File& file, TableSlice& table,
                           bool appends) const;
  void place_segment(Segment& segment, const FileSums& sums, size_t number, File& file, TableSlice& table,
                     bool appends) const;
  void cut_overruns(const Segment& segment, MetadataReader& reader, const format::Pointer& pointer,
                    TableSlice& table) const;

  std::shared_ptr<Store> store_;
  std::string path_;
  NameOf name_of_;
  Checking checking_;
};

}  // namespace sheaf
