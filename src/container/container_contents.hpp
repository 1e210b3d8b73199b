// container/container_contents: all records of one container, as it is now (docs/format.md, section 19).
//
// Reads header, tables and areas, not the bytes of streams. Works on a container that is being written to:
// what is there was there. Memory: the records and their names, never more than twice the size of the file.
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

struct ContainerContents {
  std::shared_ptr<File> file;
  format::ContainerHeader header;
  uint64_t changes = 0;
  bool synced = false;
  int64_t file_bytes = 0;
  std::vector<PlacedRecord> records;         // area by area, in each as they were written
  std::vector<std::vector<std::byte>> held;  // what their names are in
  int64_t last_table = 0;                    // place of the table of areas that is not full
  int64_t last_entries = 0;                  // of that table, in use
  std::string damage;                        // what cannot be right; empty: nothing was found
};

// nullopt: it has no whole header, and holds nothing yet. Throws what opening and reading throw,
// not_a_multifile for another file, unsupported, and damaged for tables that claim more than there is.
std::optional<ContainerContents> read_container(Store& store, const std::string& path);

// Only its counter of changes, from the file as it is for who opens it now; 0 without a header.
uint64_t read_container_changes(Store& store, const std::string& path);

}  // namespace sheaf
