// multifile/recover/leftovers: finds, removes or finishes multifiles that still have temporary names
// (multifile/create/commit) because their program died or their close failed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/export.hpp"
#include "storage/file.hpp"

namespace sheaf::multifile {

enum class LeftoverState : uint8_t {
  complete,  // only the renaming is missing
  unclosed,  // `repair` can complete it
  damaged,   // the header is incomplete: the program died during the open
};

// Returns the state in lower case, in static storage.
SHEAF_EXPORT const char* name_of(LeftoverState state);

struct Leftover {
  std::string temporary;  // physical file 0
  std::string path;       // final name
  LeftoverState state = LeftoverState::damaged;
  int32_t nfiles = 1;
  std::vector<std::string> files;  // all files that belong to it: physical files, journals, the lease
  // True if its commit has begun. Then it is the current generation of `path`, regardless of how many files
  // have been renamed.
  bool committed = false;
  std::string writer;  // the job that is writing it, if known to live (multifile/journal/lease); else empty
};

// Finds leftovers among `names`, the entries of `directory` ("": the working directory). A multifile that a
// job on a different host is writing looks like a leftover.
SHEAF_EXPORT std::vector<Leftover> find_leftovers(Store& store, const std::string& directory,
                                                  const std::vector<std::string>& names);

// Removes all files of a leftover. Throws `invalid_argument` if its commit has begun.
SHEAF_EXPORT void remove_leftover(Store& store, const Leftover& leftover);
// Renames a complete leftover to its final name, replacing existing files, and removes the files beside it.
// Throws `unclosed` or `damaged` if it is not complete.
SHEAF_EXPORT void finish_leftover(Store& store, const Leftover& leftover);

}  // namespace sheaf::multifile
