// exchange/run_code: which bytes of a window a host has, or wants, as a short message: runs of bytes, equal
// ones at equal distances once.
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
  int64_t bytes = 0;  // of all runs
  int64_t begin = 0;  // of the first one, in the window
  int64_t end = 0;    // of the last one
};

// The bytes below `length` that are set.
Runs encode_runs(const CoverageMap& map, int64_t length);

// Runs as they come in a message, of a window of `length` bytes. Throws damaged if the code makes no sense.
Runs check_runs(std::span<const std::byte> code, int64_t length);

// use(begin, length) for all runs in order, of code that makes sense.
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
