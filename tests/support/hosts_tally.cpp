#include "support/hosts_tally.hpp"

#include <algorithm>

namespace sheaf::test {

namespace {

constexpr size_t max_examples = 8;
constexpr int several = -1;

std::string name_of(HostedTask who) {
  return "task " + std::to_string(who.task) + " on host " + std::to_string(who.host);
}

}  // namespace

int64_t HostsTally::opened() {
  ++open_;
  return ++clock_;
}

void HostsTally::closed(HostedTask who) {
  published(who);
  if (--open_ > 0) return;
  spans_.clear();
  host_of_unit_.clear();
  published_.clear();
}

void HostsTally::tell(int64_t& count, int64_t more, const std::string& text) {
  count += more;
  if (counts_.examples.size() < max_examples) counts_.examples.push_back(text);
}

// Splits spans so that none has bytes on both sides of `at`.
void HostsTally::cut(int64_t at) {
  auto span = spans_.upper_bound(at);
  if (span == spans_.begin()) return;
  --span;
  if (span->first >= at || span->second.end <= at) return;
  Span right = span->second;
  span->second.end = at;
  spans_.emplace(at, right);
}

// Returns a description of the conflict, or "" without a conflict.
std::string HostsTally::mixed(const std::string& path, HostedTask who, int64_t offset, int64_t end) const {
  const int64_t begin = offset - offset % unit_;
  end += unit_ - 1 - (end - 1) % unit_;
  auto span = spans_.upper_bound(begin);
  if (span != spans_.begin()) --span;
  for (; span != spans_.end() && span->first < end; ++span) {
    const Span& there = span->second;
    if (there.end <= begin || there.who.host == who.host || may_be_read(there, clock_)) continue;
    return name_of(who) + " writes beside byte " + std::to_string(span->first) + " of " + path + ", which " +
           name_of(there.who) + " has not synced";
  }
  return {};
}

void HostsTally::wrote(const std::string& path, HostedTask who, int64_t offset, int64_t length) {
  if (length <= 0) return;
  const int64_t end = offset + length;
  const std::string beside = mixed(path, who, offset, end);
  cut(offset);
  cut(end);
  spans_.erase(spans_.lower_bound(offset), spans_.lower_bound(end));
  const int64_t now = ++clock_;
  const auto before = spans_.lower_bound(offset);
  const auto& published = published_[who];
  const int64_t last = published.empty() ? 0 : published.back();
  if (before != spans_.begin() && std::prev(before)->second.end == offset &&
      std::prev(before)->second.who == who && std::prev(before)->second.when > last)
    std::prev(before)->second.end = end;
  else
    spans_.emplace(offset, Span{end, who, now});
  for (int64_t unit = offset / unit_; unit <= (end - 1) / unit_; ++unit) {
    int& host = host_of_unit_.try_emplace(unit, who.host).first->second;
    if (host == who.host || host == several) continue;
    tell(counts_.shared_units, 1,
         "unit " + std::to_string(unit) + " of " + path + " is written on host " + std::to_string(host) +
             " and by " + name_of(who));
    host = several;
  }
  if (!beside.empty()) tell(counts_.mixed_units, 1, beside);
}

bool HostsTally::may_be_read(const Span& span, int64_t since) const {
  const auto times = published_.find(span.who);
  if (times == published_.end()) return false;
  const auto first = std::ranges::upper_bound(times->second, span.when);
  return first != times->second.end() && *first <= since;
}

void HostsTally::read(const std::string& path, HostedTask who, int64_t since, int64_t offset, int64_t length,
                      bool own_host) {
  const int64_t end = offset + length;
  auto span = spans_.upper_bound(offset);
  if (span != spans_.begin()) --span;
  for (; span != spans_.end() && span->first < end; ++span) {
    const int64_t from = std::max(offset, span->first);
    const int64_t bytes = std::min(end, span->second.end) - from;
    if (bytes <= 0 || span->second.who == who || may_be_read(span->second, since)) continue;
    if (!own_host && span->second.who.host == who.host) continue;
    tell(span->second.who.host == who.host ? counts_.neighbour_bytes : counts_.foreign_bytes, bytes,
         std::to_string(bytes) + " bytes at offset " + std::to_string(from) + " of " + path +
             ", written by " + name_of(span->second.who) + ", are read by " + name_of(who));
  }
}

}  // namespace sheaf::test
