#include "exchange/domains.hpp"

namespace sheaf::exchange {

Stretches Stretches::of_units(const Windows& windows, int64_t unit) {
  Stretches stretches;
  stretches.each = std::max<int64_t>(unit / windows.size, 1);
  stretches.before = windows.first / windows.size % stretches.each;
  return stretches;
}

Domains Domains::of_windows(const Windows& windows, int64_t aggregators, int64_t rounds) {
  Domains domains;
  domains.windows_ = windows;
  domains.aggregators_ = aggregators;
  domains.rounds_ = rounds > 0 ? rounds : domains.windows_of(0);
  return domains;
}

Domains Domains::of_stretches(const Windows& windows, const Stretches& stretches, int64_t aggregators) {
  Domains domains;
  domains.windows_ = windows;
  domains.stretches_ = stretches;
  domains.aggregators_ = aggregators;
  for (int64_t a = 0; a < aggregators; ++a) domains.rounds_ = std::max(domains.rounds_, domains.windows_of(a));
  return domains;
}

Domains Domains::of_shares(int64_t each, int64_t rounds) {
  Domains domains;
  domains.each_ = each;
  domains.rounds_ = rounds;
  return domains;
}

int64_t Domains::first_of(int64_t aggregator) const {
  const int64_t count = stretches_.count(windows_);
  const int64_t stretch = aggregator * (count / aggregators_) + std::min(aggregator, count % aggregators_);
  return std::clamp<int64_t>(stretch * stretches_.each - stretches_.before, 0, windows_.count());
}

int64_t Domains::windows_of(int64_t aggregator) const { return first_of(aggregator + 1) - first_of(aggregator); }

Domains::Part Domains::part(const Access& access, int64_t aggregator, int64_t round) const {
  if (access.bytes() <= 0) return {};
  if (!by_windows()) {
    const int64_t from = access.from + std::min(access.bytes(), round * each_);
    return {from, from + std::min(access.to - from, each_)};
  }
  if (!has_window(aggregator, round)) return {};
  return {access.position_at(begin(aggregator, round)), access.position_at(end(aggregator, round))};
}

Domains::Part Domains::whole(const Access& access, int64_t aggregator) const {
  if (!by_windows() || access.bytes() <= 0) return {access.from, access.to};
  const int64_t windows = windows_of(aggregator);
  if (windows == 0) return {};
  return {access.position_at(begin(aggregator, 0)), access.position_at(end(aggregator, windows - 1))};
}

}  // namespace sheaf::exchange
