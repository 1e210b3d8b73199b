#include "sfio/api/refused.hpp"

#include <array>
#include <atomic>

namespace sheaf::sfio {

namespace {

std::array<std::atomic<int64_t>, counted_kinds> refused{};

}  // namespace

void count_refused(Counted kind, const std::exception& error) {
  const auto* const known = dynamic_cast<const Error*>(&error);
  if (known && (known->is_counted() || known->is_reported_elsewhere())) return;
  refused[static_cast<size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
}

ErrorCounts take_refused() {
  ErrorCounts taken{};
  for (size_t i = 0; i < taken.size(); ++i) taken[i] = refused[i].exchange(0, std::memory_order_relaxed);
  return taken;
}

}  // namespace sheaf::sfio
