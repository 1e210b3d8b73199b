// exchange/run_code: the byte runs of a window that a host has or needs, as a list of extents in the code of
// layout/extent_code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exchange/pieces/coverage.hpp"

namespace sheaf::exchange {

struct Runs {
  std::vector<std::byte> code;
  int64_t bytes = 0;  // total length of all runs
  int64_t begin = 0;  // start of the first run, in the window
  int64_t end = 0;    // end of the last run
};

// Encodes the runs of set bytes below `length`.
Runs encode_runs(const CoverageMap& map, int64_t length);

// Validates a code received for a window of `length` bytes. Throws damaged unless its extents are disjoint,
// in ascending order and inside the window.
Runs check_runs(std::vector<std::byte> code, int64_t length);

}  // namespace sheaf::exchange
