// container/container_contents: all records of one container, as it is now, and what of it cannot be read
// although bytes of it are there (docs/format.md, section 19, also "Damage").
//
// Reads header, tables and areas, not the bytes of streams. Works on a container that is being written to:
// what is there was there, and what comes later can be read without what is known. Memory: the records and
// their names, never more than twice the size of the file, and an area while it is read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "format/container.hpp"
#include "storage/store.hpp"

namespace sheaf {

struct PlacedRecord {
  format::ContainerRecord record;
  int64_t place = 0;  // in the container
};

// An area of records that may get more of them.
struct OpenArea {
  format::Area area;
  int64_t known = 0;  // bytes of it whose records are
};

struct ContainerContents {
  std::shared_ptr<File> file;
  format::ContainerHeader header;
  uint64_t changes = 0;
  bool synced = false;
  bool failed = false;  // a write that no record tells of
  int64_t file_bytes = 0;
  std::vector<PlacedRecord> records;         // of each area as they were written
  std::vector<std::vector<std::byte>> held;  // what their names are in
  int64_t last_table = 0;                    // place of the table of areas that is not full
  int64_t last_entries = 0;                  // of that table, in use
  std::vector<OpenArea> open = {};
  int64_t claimed = 0;  // bytes of the file that tables and areas take
  int64_t end = 0;      // of the last of them, in the file or behind it
};

// nullopt: it has no whole header, and holds nothing yet. Throws what opening and reading throw,
// not_a_multifile for another file, unsupported, and damaged for tables that claim more than there is.
std::optional<ContainerContents> read_container(Store& store, const std::string& path);

// Throws damaged if the file, which has no whole header, is longer than a container that is being made, and
// not_a_multifile if it has bytes that no such container has.
void require_in_the_making(File& file);

// What has come since, as the file is for who opens it now; records are added behind those that are known,
// and nothing of them is read again. unsaid: also what its writers have not said yet, by the word that says
// that there are changes. `another`: the name is another container's by now, or that of none yet.
// Throws what read_container() throws; then contents are as they were, or have some of what is new.
enum class Come : uint8_t { nothing, more, another };
Come read_more(Store& store, const std::string& path, ContainerContents& contents, bool unsaid);

// Each is the first thing that was found, with its place; empty: nothing.
struct ContainerFindings {
  std::string damage;  // no program leaves it so, whenever it ends
  std::string torn;    // a program that was killed, or whose write has failed, may have left it so
};

// Only behind the entries of the last table: who adds one writes over what is there.
ContainerFindings check_tables(const ContainerContents& contents);

// Looks at all bytes behind the records that were found. On a container that is being written to, a record
// that comes just now may be taken for a torn one. Throws what reading throws.
ContainerFindings check_container(const ContainerContents& contents);

}  // namespace sheaf
