// streams/container/container_contents: reads all records of one container, and describes what cannot be read
// (docs/format.md, section 19, with "Damage").
//
// Reads the header, tables and areas, not the bytes of streams. Processes may write to the container during
// the call: records that were read stay valid, and read_more() reads only the new ones. Memory: the records
// and their names (at most twice the size of the file), and one area while it is read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "format/container.hpp"
#include "storage/file.hpp"

namespace sheaf::streams {

struct PlacedRecord {
  format::ContainerRecord record;
  int64_t place = 0;  // offset in the container
};

// An area of records that may still grow.
struct OpenArea {
  format::Area area;
  int64_t known = 0;  // bytes of the area that were parsed
};

struct ContainerContents {
  std::shared_ptr<File> file;
  format::ContainerHeader header;
  uint64_t changes = 0;
  bool synced = false;
  bool failed = false;  // a write failed, and no record reports it
  int64_t file_bytes = 0;
  std::vector<PlacedRecord> records;         // in the order of writing within each area
  std::vector<std::vector<std::byte>> held;  // memory that the names of the records refer to
  int64_t last_table = 0;                    // place of the last table of areas, which is not full
  int64_t last_entries = 0;                  // entries in use in the last table
  std::vector<OpenArea> open = {};
  int64_t claimed = 0;  // bytes of the file occupied by tables and areas
  int64_t end = 0;      // end of the last table or area; may exceed the size of the file
};

// Reads the container at `path`. Returns nullopt if the container has no complete header, and therefore no
// content yet. Throws `not_a_multifile` for other files, and `unsupported` for an unknown version. Throws
// `damaged` if the tables claim more bytes than the file has, and the errors of opening and reading.
std::optional<ContainerContents> read_container(Store& store, const std::string& path);

// Checks that a file without a complete header is a container under construction. Throws `damaged` if the
// file is longer than a container under construction, and `not_a_multifile` if it has bytes that no such
// container has.
void require_in_the_making(File& file);

enum class Come : uint8_t { none, appended, replaced };
// Appends to `contents` the records that were added to the container since the last read, and reads no known
// record again. With `unsaid`, this includes records that the writers have not announced yet with the word
// that counts changes. Returns `appended` if it has added records, and `replaced` if `path` now names a
// different container or one without a header. Throws the errors of read_container(); a failed call may have
// added some of the new records.
Come read_more(Store& store, const std::string& path, ContainerContents& contents, bool unsaid);

// Findings of a check. Each string describes the first finding of its kind and its place, or is empty.
struct ContainerFindings {
  std::string damage;  // a state that no interrupted program leaves
  std::string torn;    // a state that a killed program or a failed write may have left
};

// Checks only the bytes after the entries of the last table. A new entry would overwrite them, so they must
// be zero.
ContainerFindings check_tables(const ContainerContents& contents);

// Checks all bytes that follow the records found. If the container is being written, a record that is just
// being added may be reported as torn. Throws the errors of reading.
ContainerFindings check_container(const ContainerContents& contents);

}  // namespace sheaf::streams
