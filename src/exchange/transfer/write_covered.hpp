// exchange/transfer/write_covered: writes a window that tasks have filled in part.
#pragma once

#include <span>

#include "exchange/pieces/coverage.hpp"
#include "exchange/transfer/independent.hpp"
#include "exchange/transfer/io_counters.hpp"
#include "storage/file.hpp"

namespace sheaf::exchange {

// Writes those bytes of `window` that are set in `map`; the window begins at file offset `offset`. Data
// sieving reads the file's bytes in the gaps into `window` and writes them back under a lock. With
// Sieving::automatic, it fills only gaps that cost less than one more request. It skips gaps in a range in
// which the program itself holds a lock. On files of several hosts it takes no lock: a caller that allows
// sieving must keep all other tasks from writing during the call.
void write_covered(File& file, std::span<std::byte> window, const CoverageMap& map, int64_t offset,
                   Sieving sieving, IoCounters& counters);

}  // namespace sheaf::exchange
