#include "exchange/run_code.hpp"

#include "base/assert.hpp"

namespace sheaf::exchange {

Runs encode_runs(const CoverageMap& map, int64_t length) {
  Runs runs;
  uint64_t gap = 0, run = 0, count = 0;
  const auto write = [&] {
    if (count == 0) return;
    append_number(runs.code, gap);
    append_number(runs.code, run);
    append_number(runs.code, count);
  };
  map.for_each_run(length, [&](int64_t from, int64_t to) {
    const auto next_gap = static_cast<uint64_t>(from - runs.end), next_run = static_cast<uint64_t>(to - from);
    if (next_gap != gap || next_run != run) {
      write();
      gap = next_gap;
      run = next_run;
      count = 0;
    }
    ++count;
    if (runs.bytes == 0) runs.begin = from;
    runs.bytes += to - from;
    runs.end = to;
  });
  write();
  SHEAF_ASSERT(runs.begin >= 0 && runs.bytes <= runs.end - runs.begin && runs.end <= length);
  return runs;
}

Runs check_runs(std::span<const std::byte> code, int64_t length) {
  Runs runs;
  runs.code.assign(code.begin(), code.end());
  const auto most = static_cast<uint64_t>(length);
  while (!code.empty()) {
    const uint64_t gap = take_number(code), run = take_number(code), count = take_number(code);
    if (gap > most || run == 0 || count == 0 || run > most ||
        count > (most - static_cast<uint64_t>(runs.end)) / (gap + run))
      throw_senseless();
    if (runs.bytes == 0) runs.begin = static_cast<int64_t>(gap);
    runs.bytes += static_cast<int64_t>(run * count);
    runs.end += static_cast<int64_t>((gap + run) * count);
  }
  return runs;
}

}  // namespace sheaf::exchange
