// sharedfile/opening: what task 0 tells all tasks when a file is opened, as one message, short enough for a
// meeting in shared memory (comm/shared_meeting).
#pragma once

#include <cstdint>

#include "sharedfile/hints.hpp"
#include "storage/traits/traits.hpp"

namespace sheaf {

struct Opening {
  int64_t opened;   // whether task 0 could open the file
  uint64_t id;      // of this open
  int64_t reports;  // number of places where task 0 reports statistics
  FileSystemTraits traits;
  HintValues hints;
  char config_list[232];  // cut off if it is too long
};

void keep(const Hints& hints, Opening& to);
Hints hints_in(const Opening& opening);

}  // namespace sheaf
