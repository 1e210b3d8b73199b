// tools/verify: everything that can be found wrong with a multifile without knowing its contents.
//
// Per physical file: the rules of docs/format.md, section "Complete, unclosed and damaged files". Over the
// set: its members belong together and the mapping names every task once. Then the data: every recorded byte
// can be read, and the records of a key-value multifile fill their streams. Findings make the multifile bad;
// notes do not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/export.hpp"
#include "creation/work_progress.hpp"
#include "metadata/physical_file.hpp"

namespace sheaf {

enum class FileState : uint8_t {
  complete,
  unclosed,    // never closed: no block table
  damaged,     // contradicts itself, the size of the file or the set
  unreadable,  // the operating system refuses
  foreign,     // no multifile, or of an unknown version
};

// The state that an error of this kind shows.
FileState state_of(Code code);
// Lower-case name of a state. Static storage.
SHEAF_EXPORT const char* name_of(FileState state);

struct Finding {
  FileState state;
  std::string message;                        // names the path
  std::optional<Error> cause = std::nullopt;  // what a check has thrown
};

struct FileReport {
  std::string path;
  FileState state = FileState::complete;  // the first finding's
  std::vector<Finding> findings;          // at most 100
  bool more = false;                      // there were more
  std::vector<std::string> notes;
  int64_t ntasks = 0;
  int64_t data_bytes = 0;  // recorded
  bool checksums = false;  // there are some, of data and metadata
};

struct SHEAF_EXPORT VerifyReport {
  std::string path;
  std::vector<FileReport> files;  // physical files, those of a set that are missing included
  bool ok() const;
};

// `read_data` false: metadata only. Throws only what `progress` throws. Memory: at most 64 MiB, whatever the
// files claim.
SHEAF_EXPORT VerifyReport verify(Store& store, const std::string& path, bool read_data,
                                 WorkProgress& progress);

}  // namespace sheaf
