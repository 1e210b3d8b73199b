#include "exchange/window_transfer.hpp"

#include <algorithm>

#include "base/report/trace.hpp"
#include "exchange/pieces/coverage.hpp"
#include "exchange/transfer/write_covered.hpp"

namespace sheaf::exchange {

void WindowTransfer::mark(const WindowPart& part) const {
  if (part.from < part.to)
    CoverageMap(call_.pool().map(part.number)).set(access_, part.from, part.to, call_.low(part.number));
}

void WindowTransfer::put(const WindowPart& part) {
  if (part.from >= part.to) return;
  const ScopedTimer clock(counters_.exchange_ns);
  const TraceEvent event("pack", call_.low(part.number), part.to - part.from);
  pack_window(access_, part.from, part.to, call_.memory(part.number), call_.low(part.number));
  if (marks_) mark(part);
  counters_.exchanged_bytes += part.to - part.from;
}

void WindowTransfer::take(const WindowPart& part) {
  if (part.from >= part.to) return;
  const ScopedTimer clock(counters_.exchange_ns);
  const TraceEvent event("unpack", call_.low(part.number), part.to - part.from);
  const int64_t low = call_.low(part.number),
                got = call_.pool().slot(part.number).got.load(std::memory_order_relaxed);
  int64_t to = part.to;
  if (got < call_.length(part.number))
    done_ = std::min(done_, to = std::min(to, access_.position_at(low + got)));
  if (part.from < to) take_pieces(access_, part.from, to, call_.memory(part.number), low);
  counters_.exchanged_bytes += to - part.from;
}

void WindowTransfer::write(uint64_t number, File& file, Sieving sieving) {
  const CoverageMap map(call_.pool().map(number));
  attempt(problem_, [&] {
    if (!marks_) return put_shared(file, call_.bytes(number), call_.low(number), counters_);
    write_covered(file, call_.bytes(number), map, call_.low(number), sieving, counters_);
  });
  if (marks_) map.clear();
}

void WindowTransfer::read(uint64_t number, File& file) {
  size_t got = 0;
  attempt(problem_, [&] { got = get(file, call_.bytes(number), call_.low(number), counters_); });
  call_.pool().slot(number).got.store(static_cast<int64_t>(got), std::memory_order_relaxed);
}

}  // namespace sheaf::exchange
