// exchange/run_code: a compact message that lists the byte runs of a window that a host has or needs. Equal
// runs at equal distances are encoded once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exchange/pieces/coverage.hpp"
#include "exchange/pieces/short_numbers.hpp"

namespace sheaf::exchange {

struct Runs {
  std::vector<std::byte> code;
  int64_t bytes = 0;  // total length of all runs
  int64_t begin = 0;  // start of the first run, in the window
  int64_t end = 0;    // end of the last run
};

// Encodes the runs of set bytes below `length`.
Runs encode_runs(const CoverageMap& map, int64_t length);

// Validates a code received for a window of `length` bytes. Throws damaged if the code is invalid.
Runs check_runs(std::span<const std::byte> code, int64_t length);

// Calls use(begin, length) for all runs of a valid code, in order.
template <class Use>
void for_each_run(std::span<const std::byte> code, Use use) {
  for (int64_t at = 0; !code.empty();) {
    const auto gap = static_cast<int64_t>(take_number(code));
    const auto length = static_cast<int64_t>(take_number(code));
    for (uint64_t count = take_number(code); count > 0; --count) {
      use(at + gap, length);
      at += gap + length;
    }
  }
}

}  // namespace sheaf::exchange
