#include "streams/container/index/shared_names.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <ranges>
#include <span>

namespace sheaf::streams {

namespace {

constexpr uint64_t first_buckets = 1024;
constexpr uint64_t max_buckets = HostMemory::chunk / sizeof(SharedPlace);
constexpr int64_t entries_per_bucket = 2;

uint64_t hash_of_name(std::string_view name) { return format::hash_of(std::as_bytes(std::span(name))); }

}  // namespace

KeyText::KeyText(const format::StreamKey& key) {
  text_[0] = '\0';
  std::memcpy(text_ + 1, &key.number, 8);
  std::memcpy(text_ + 9, &key.origin, 8);
}

// Adds a larger level of buckets. New entries go to the newest level. No entry ever changes its level.
void SharedNames::add_level() {
  NamesState& now = state();
  const uint32_t count = now.level_count.load();
  if (count == std::size(now.levels)) return;
  const uint64_t buckets =
      count == 0 ? first_buckets : std::min(max_buckets, (now.levels[count - 1].mask + 1) * 8);
  const SharedPlace at = allocator_.allocate(buckets * sizeof(SharedPlace));
  std::memset(allocator_.memory().at(at), 0, buckets * sizeof(SharedPlace));
  now.levels[count].mask = buckets - 1;
  now.levels[count].entries = 0;
  now.levels[count].buckets.store(at);
  now.level_count.store(count + 1);
}

SharedPlace SharedNames::find(std::string_view name) {
  NamesState& now = state();
  const uint64_t hash = hash_of_name(name);
  for (uint32_t k = now.level_count.load(); k-- > 0;)
    for (SharedPlace at = bucket(now.levels[k], hash).load(); at != 0; at = entry(at).next.load())
      if (entry(at).hash == hash && text(at) == name) return entry(at).stream;
  return 0;
}

SharedPlace SharedNames::make_entry(SharedPlace stream, std::string_view name) {
  const NamesState::Level& newest = state().levels[state().level_count - 1];
  if (newest.entries >= entries_per_bucket * static_cast<int64_t>(newest.mask + 1)) add_level();
  const SharedPlace at = allocator_.make_with<SharedEntry>(name);
  entry(at).hash = hash_of_name(name);
  entry(at).stream = stream;
  return at;
}

void SharedNames::link(SharedPlace at) {
  NamesState::Level& newest = state().levels[state().level_count - 1];
  Chain& chain = bucket(newest, entry(at).hash);
  entry(at).next.store(chain.load());
  chain.store(at);
  ++newest.entries;
}

void SharedNames::unlink(SharedPlace at) {
  NamesState& now = state();
  for (NamesState::Level& level : std::span(now.levels).first(now.level_count) | std::views::reverse)
    for (Chain* link = &bucket(level, entry(at).hash); link->load() != 0; link = &entry(link->load()).next)
      if (link->load() == at) {
        link->store(entry(at).next.load());
        --level.entries;
        return;
      }
}

SharedPlace SharedNames::clear() {
  NamesState& now = state();
  SharedPlace keys = 0;
  for (NamesState::Level& level : std::span(now.levels).first(now.level_count)) {
    for (uint64_t b = 0; b <= level.mask; ++b) {
      for (SharedPlace at = bucket(level, b).exchange(0), next = 0; at != 0; at = next) {
        next = entry(at).next.load();
        if (entry(at).bytes != sizeof(KeyText) || entry(at).text[0] != '\0') continue;
        entry(at).next.store(keys);
        keys = at;
      }
    }
    level.entries = 0;
  }
  return keys;
}

}  // namespace sheaf::streams
