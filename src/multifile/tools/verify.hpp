// multifile/tools/verify: finds all defects of a multifile that are detectable without knowing its contents.
//
// Checks each physical file against docs/format.md, section "Complete, unclosed and damaged files". Checks
// that the files of a set belong together and that the mapping names every task once. Then checks the data:
// every recorded byte must be readable, and the records of a key-value multifile must fill their streams. A
// finding is a defect of the multifile; a note reports a harmless property.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/export.hpp"
#include "multifile/create/work_progress.hpp"
#include "multifile/metadata/physical_file.hpp"

namespace sheaf::multifile {

enum class FileState : uint8_t {
  complete,
  unclosed,    // never closed: no block table
  damaged,     // contradicts itself, the size of the file or the set
  unreadable,  // access refused by the operating system
  foreign,     // no multifile, or of an unknown version
};

// Returns the state of a file for which an error of this kind was thrown.
FileState state_of(Code code);
// Returns the lower-case name of a state. Static storage.
SHEAF_EXPORT const char* name_of(FileState state);

struct Finding {
  FileState state;
  std::string message;                        // contains the path
  std::optional<Error> cause = std::nullopt;  // error thrown by the check
};

struct FileReport {
  std::string path;
  FileState state = FileState::complete;  // state of the first finding
  std::vector<Finding> findings;          // at most 100
  bool more = false;                      // further findings were omitted
  std::vector<std::string> notes;
  int64_t ntasks = 0;
  int64_t data_bytes = 0;  // recorded bytes
  bool checksums = false;  // data and metadata have checksums
};

struct SHEAF_EXPORT VerifyReport {
  std::string path;
  std::vector<FileReport> files;  // physical files, including missing ones of a set
  bool ok() const;
};

// Checks the multifile `path`. If `read_data` is false, checks only the metadata. Throws only what `progress`
// throws. Takes at most 64 MiB of memory, whatever sizes the files claim.
SHEAF_EXPORT VerifyReport verify(Store& store, const std::string& path, bool read_data,
                                 WorkProgress& progress);

}  // namespace sheaf::multifile
