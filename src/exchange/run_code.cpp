#include "exchange/run_code.hpp"

#include "base/error.hpp"

namespace sheaf::exchange {

namespace {

[[noreturn]] void damaged() { throw Error(Code::damaged, "a list of runs between hosts makes no sense"); }

}  // namespace

void append_number(std::vector<std::byte>& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to.push_back(static_cast<std::byte>(value | 0x80));
  to.push_back(static_cast<std::byte>(value));
}

uint64_t take_number(std::span<const std::byte>& code) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (code.empty()) damaged();
    const auto byte = static_cast<uint64_t>(code.front());
    code = code.subspan(1);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  damaged();
}

Runs encode_runs(const CoverageMap& map, int64_t length) {
  Runs runs;
  uint64_t gap = 0, run = 0, count = 0;
  const auto write = [&] {
    if (count == 0) return;
    append_number(runs.code, gap);
    append_number(runs.code, run);
    append_number(runs.code, count);
  };
  for (int64_t from = map.next_set(0, length); from < length;) {
    const int64_t to = map.next_clear(from, length);
    const auto next_gap = static_cast<uint64_t>(from - runs.end), next_run = static_cast<uint64_t>(to - from);
    if (count > 0 && next_gap == gap && next_run == run) {
      ++count;
    } else {
      write();
      if (runs.bytes == 0) runs.begin = from;
      gap = next_gap;
      run = next_run;
      count = 1;
    }
    runs.bytes += to - from;
    runs.end = to;
    from = map.next_set(to, length);
  }
  write();
  return runs;
}

Runs check_runs(std::span<const std::byte> code, int64_t length) {
  Runs runs;
  runs.code.assign(code.begin(), code.end());
  const auto most = static_cast<uint64_t>(length);
  while (!code.empty()) {
    const uint64_t gap = take_number(code), run = take_number(code), count = take_number(code);
    if (gap > most || run == 0 || count == 0 || run > most || count > (most - static_cast<uint64_t>(runs.end)) / (gap + run)) damaged();
    if (runs.bytes == 0) runs.begin = static_cast<int64_t>(gap);
    runs.bytes += static_cast<int64_t>(run * count);
    runs.end += static_cast<int64_t>((gap + run) * count);
  }
  return runs;
}

}  // namespace sheaf::exchange
