#include "exchange/transfer/write_covered.hpp"

#include <algorithm>
#include <vector>

#include "base/bytes.hpp"
#include "exchange/pieces/constants.hpp"

namespace sheaf::exchange {

namespace {

using WriteSegments = std::span<const Piece<const std::byte>>;

// Writes `parts` of `run` in one request, together with the file's bytes between them. The first part must
// begin, and the last part end, with `run`.
void write_together(File& file, std::span<std::byte> run, WriteSegments parts, IoCounters& counters) {
  const int64_t offset = parts.front().offset;
  ++counters.sieve_calls;
  RangeLock lock;
  if (!file.traits().own_caches) {
    lock = file.lock(offset, std::ssize(run), true, OnConflict::report);
    if (!lock) {
      for (const auto& part : parts) put_shared(file, part.memory, part.offset, counters);
      return;
    }
  }
  LineBytes old(run.size());
  const size_t got = get(file, old, offset, counters);
  std::fill(old.begin() + static_cast<std::ptrdiff_t>(got), old.end(), std::byte());
  for (size_t i = 1; i < parts.size(); ++i) {
    const int64_t gap = parts[i - 1].end() - offset;
    std::copy(old.begin() + gap, old.begin() + (parts[i].offset - offset), run.begin() + gap);
  }
  put(file, run, offset, counters);
}

}  // namespace

void write_covered(File& file, std::span<std::byte> window, const CoverageMap& map, int64_t offset,
                   Sieving sieving, IoCounters& counters) {
  std::vector<Piece<const std::byte>> parts;
  map.for_each_run(std::ssize(window), [&](int64_t from, int64_t to) {
    parts.push_back(
        {offset + from, window.subspan(static_cast<size_t>(from), static_cast<size_t>(to - from))});
  });
  const FileTraits traits = file.traits();
  if (traits.dear_requests || (traits.own_caches && sieving == Sieving::disabled))
    return write_segments(file, parts, counters);
  const int64_t worth = sieving == Sieving::disabled  ? 0
                        : sieving == Sieving::enabled ? std::ssize(window)
                        : traits.own_caches           ? gap_worth_a_message
                                                      : gap_worth_a_request;
  for (WriteSegments rest = parts; !rest.empty();) {
    const auto last = std::ranges::adjacent_find(rest, [&](const auto& part, const auto& next) {
      return next.offset - part.end() > worth ||
             (!traits.own_caches && contains_block(part.end(), next.offset));
    });
    const WriteSegments together = rest.first(std::min<size_t>(rest.size(), last - rest.begin() + 1));
    const int64_t from = together.front().offset;
    if (together.size() == 1) {
      put_shared(file, together.front().memory, from, counters);
    } else {
      write_together(file,
                     window.subspan(static_cast<size_t>(from - offset),
                                    static_cast<size_t>(together.back().end() - from)),
                     together, counters);
    }
    rest = rest.subspan(together.size());
  }
}

}  // namespace sheaf::exchange
