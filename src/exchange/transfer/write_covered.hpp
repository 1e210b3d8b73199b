// exchange/transfer/write_covered: a window of which tasks have filled some parts.
#pragma once

#include <span>

#include "exchange/pieces/coverage.hpp"
#include "exchange/transfer/independent.hpp"
#include "exchange/transfer/tally.hpp"
#include "storage/file.hpp"

namespace sheaf::exchange {

// Writes the bytes of `window`, which begins at `offset` of the file, that are set in `map`. Where gaps are
// smaller than what a request costs (sieving: automatic), or always, or never, what the file holds in them is
// read, kept in `window` and written back, under a lock; where the program itself has locked a part of it,
// they are left out as well. On files of several hosts nobody takes a lock: who lets them be sieved keeps all
// tasks from writing meanwhile.
void write_covered(File& file, std::span<std::byte> window, const CoverageMap& map, int64_t offset,
                   Sieving sieving, Tally& tally);

}  // namespace sheaf::exchange
