#include "exchange/transfer/write_covered.hpp"

#include <algorithm>
#include <utility>

#include "base/bytes.hpp"
#include "exchange/pieces/constants.hpp"

namespace sheaf::exchange {

namespace {

using Gaps = std::vector<std::pair<int64_t, int64_t>>;

// What lies between the gaps of a run, which begin and end within it.
void write_between(File& file, std::span<const std::byte> run, int64_t offset, const Gaps& gaps,
                   Tally& tally) {
  int64_t from = 0;
  const auto write_to = [&](int64_t to) {
    put_shared(file, run.subspan(static_cast<size_t>(from), static_cast<size_t>(to - from)), offset + from,
               tally);
  };
  for (const auto& [gap, end] : gaps) {
    write_to(gap);
    from = end;
  }
  write_to(std::ssize(run));
}

void write_with_gaps(File& file, std::span<std::byte> run, int64_t offset, const Gaps& gaps, Tally& tally) {
  ++tally.sieve_calls;
  RangeLock lock;
  if (!file.traits().apart) {
    lock = file.lock(offset, std::ssize(run), true, Barred::tell);
    if (!lock) return write_between(file, run, offset, gaps, tally);
  }
  LineBytes old(run.size());
  const size_t got = get(file, old, offset, tally);
  std::fill(old.begin() + static_cast<std::ptrdiff_t>(got), old.end(), std::byte());
  for (const auto& [gap, end] : gaps) std::copy(old.begin() + gap, old.begin() + end, run.begin() + gap);
  put(file, run, offset, tally);
}

// The parts of `window` that are set in `map`.
std::vector<Piece<const std::byte>> covered(std::span<const std::byte> window, const CoverageMap& map,
                                            int64_t offset) {
  std::vector<Piece<const std::byte>> pieces;
  const int64_t length = std::ssize(window);
  for (int64_t from = map.next_set(0, length); from < length;) {
    const int64_t to = map.next_clear(from, length);
    pieces.push_back(
        {offset + from, window.subspan(static_cast<size_t>(from), static_cast<size_t>(to - from))});
    from = map.next_set(to, length);
  }
  return pieces;
}

}  // namespace

void write_covered(File& file, std::span<std::byte> window, const CoverageMap& map, int64_t offset,
                   Sieving sieving, Tally& tally) {
  const FileTraits traits = file.traits();
  if (traits.dear_requests || (traits.apart && sieving == Sieving::never))
    return put_pieces(file, covered(window, map, offset), tally);
  const int64_t length = std::ssize(window);
  const int64_t worth = sieving == Sieving::never    ? 0
                        : sieving == Sieving::always ? length
                        : traits.apart               ? gap_worth_a_message
                                                     : gap_worth_a_request;
  Gaps gaps;
  for (int64_t from = map.next_set(0, length); from < length;) {
    gaps.clear();
    int64_t to = map.next_clear(from, length);
    int64_t next = map.next_set(to, length);
    while (next < length && next - to <= worth) {
      gaps.emplace_back(to - from, next - from);
      to = map.next_clear(next, length);
      next = map.next_set(to, length);
    }
    const auto run = window.subspan(static_cast<size_t>(from), static_cast<size_t>(to - from));
    if (gaps.empty()) {
      put_shared(file, run, offset + from, tally);
    } else {
      write_with_gaps(file, run, offset + from, gaps, tally);
    }
    from = next;
  }
}

}  // namespace sheaf::exchange
