// recovery/leftovers: multifiles under temporary names (creation/commit) whose program has died, or
// whose close has failed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/export.hpp"
#include "storage/file.hpp"

namespace sheaf {

enum class LeftoverState : uint8_t {
  complete,  // only the renaming is missing
  unclosed,  // `repair` makes it complete
  damaged,   // not even a whole header: the open was not over
};

// Lower-case name. Static storage.
SHEAF_EXPORT const char* name_of(LeftoverState state);

struct Leftover {
  std::string temporary;  // physical file 0
  std::string path;       // that it was to get
  LeftoverState state = LeftoverState::damaged;
  int32_t nfiles = 1;
  std::vector<std::string> files;  // all that belongs to it: physical files, journals, the lease
  // Its commit has begun: it is the generation under `path`, whatever files have been renamed.
  bool committed = false;
  std::string writer;  // the job that is writing it, known to live (journal/lease); empty: none
};

// Among `names`, entries of `directory` ("" : the working directory). One that a job on another machine is
// writing looks as if it was left.
SHEAF_EXPORT std::vector<Leftover> find_leftovers(Store& store, const std::string& directory,
                                                  const std::vector<std::string>& names);

// Removes its files. Throws invalid_argument if its commit has begun.
SHEAF_EXPORT void remove_leftover(Store& store, const Leftover& leftover);
// Gives a complete one its name, and removes what lies beside it. What has the name already is replaced.
// Throws unclosed, damaged.
SHEAF_EXPORT void finish_leftover(Store& store, const Leftover& leftover);

}  // namespace sheaf
