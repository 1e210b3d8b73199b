// sharedfile/opening: what task 0 tells all tasks when a file is opened, as one message, short enough for a
// meeting in shared memory (comm/shared_meeting).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sharedfile/hints.hpp"

namespace sheaf {

struct Opening {
  int64_t opened;  // whether task 0 could open the file
  uint64_t id;     // of this open
  char config_list[232];
  int64_t wish;  // length of SHEAF_STATS, which follows if it is set
  int64_t numbers[8];
  uint8_t choices[4];
  bool flags[4];
  // Of the file system (storage/traits/traits.hpp).
  uint8_t coherence;
  uint8_t locks;
  uint8_t kind;
  int64_t unit;
  int64_t writers;
};

// Text, cut off if it is too long.
void keep(const std::string& from, std::span<char> to);

void keep(const Hints& hints, Opening& to);
Hints hints_in(const Opening& opening);

}  // namespace sheaf
