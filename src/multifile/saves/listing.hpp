// multifile/saves/listing: the pending and failed saves in a directory, as their records show them (`sheaf
// saves`).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/export.hpp"
#include "storage/file.hpp"

namespace sheaf::saves {

enum class ListedState : uint8_t {
  writing,   // open: a living job has not closed it yet
  captured,  // its job lives
  local,     // its job lives, and its files are complete on their hosts
  failed,
  complete,  // its job has ended, and all its bytes are on disk: `sheaf saves --finish` commits it
  lost,      // its job has ended, and bytes are missing
};

struct SHEAF_EXPORT SaveEntry {
  std::string name;       // final name
  std::string temporary;  // of physical file 0
  ListedState state = ListedState::captured;
  double age = 0;  // seconds since the close; 0 while it is open
  int64_t bytes = 0;
  int64_t written = 0;
  int32_t hosts = 0;
  int64_t tasks = 0;
  std::string error = {};  // of the first failed task; "": none
  // Returns the bytes written per second since the close; 0 before the first record of progress.
  double rate() const { return age > 0 ? static_cast<double>(written) / age : 0; }
};

// Returns the state in lower case, in static storage.
SHEAF_EXPORT const char* name_of(ListedState state);

// Returns the saves in `directory` ("": the working directory) in the order of their closes, those that are
// open last. Throws the errors of reading the directory.
SHEAF_EXPORT std::vector<SaveEntry> list_saves(Store& store, const std::string& directory);

}  // namespace sheaf::saves
