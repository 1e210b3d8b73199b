#include "streams/container/shared_streams.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <new>
#include <vector>

#include "base/assert.hpp"
#include "base/error.hpp"

namespace sheaf::streams {

namespace {

constexpr uint64_t grain = 64;  // unit of memory blocks, bytes
constexpr uint64_t first_buckets = 1024;
constexpr uint64_t max_buckets = HostMemory::chunk / sizeof(SharedPlace);
constexpr int64_t entries_per_bucket = 2;
constexpr int64_t latest = INT64_MAX / 2;  // year 2116; damaged times must not exhaust the clock

uint64_t entry_bytes(size_t name) { return (offsetof(SharedEntry, name) + name + grain - 1) / grain * grain; }

uint64_t target_bytes(size_t path) {
  return (offsetof(SharedTarget, path) + path + grain - 1) / grain * grain;
}

// Encodes a key as a name that no stream can have, so that the hash table can hold it.
struct KeyText {
  explicit KeyText(const format::StreamKey& key) {
    text[0] = '\0';
    std::memcpy(text + 1, &key.number, 8);
    std::memcpy(text + 9, &key.origin, 8);
  }
  std::string_view view() const { return {text, sizeof text}; }
  char text[17];
};

uint64_t hash_of_name(std::string_view name) { return format::hash_of(std::as_bytes(std::span(name))); }

}  // namespace

void SharedStreams::make(const format::Identity& identity, bool summed) {
  memory_.reach(HostMemory::first_free + sizeof(Head));
  Head& made = *::new (memory_.at(HostMemory::first_free)) Head{};
  made.names.make();
  made.memory.make();
  made.tables.make();
  made.log.make();
  made.identity = identity;
  made.summed = summed;
  made.used = (HostMemory::first_free + sizeof(Head) + grain - 1) / grain * grain;
  add_level();
}

int64_t SharedStreams::tick() {
  using namespace std::chrono;
  const int64_t now = duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
  std::atomic<int64_t>& clock = head().clock;
  int64_t before = clock.load(std::memory_order_relaxed);
  while (!clock.compare_exchange_weak(before, std::max(now, before + 1), std::memory_order_acq_rel)) {
  }
  return std::max(now, before + 1);
}

void SharedStreams::hear(int64_t time) {
  time = std::min(time, latest);
  std::atomic<int64_t>& clock = head().clock;
  int64_t before = clock.load(std::memory_order_relaxed);
  while (before < time && !clock.compare_exchange_weak(before, time, std::memory_order_acq_rel)) {
  }
}

// --- Memory.

SharedPlace SharedStreams::allocate(uint64_t bytes) {
  Head& h = head();
  const uint64_t size = (bytes + grain - 1) / grain;
  // If a holder of the lock was killed, the free lists may be inconsistent, so drop them. Their blocks stay
  // unused until the memory is rebuilt.
  if (h.memory.lock()) std::ranges::fill(h.free, 0);
  SharedPlace at = 0;
  if (size < std::size(h.free) && (at = h.free[size]) != 0) {
    h.free[size] = memory_.as<SharedPlace>(at);
  } else {
    at = h.used;
    if (at / HostMemory::chunk != (at + size * grain - 1) / HostMemory::chunk)
      at = (at / HostMemory::chunk + 1) * HostMemory::chunk;
    try {
      memory_.reach(at + size * grain);
    } catch (...) {
      h.memory.unlock();
      throw;
    }
    h.used = at + size * grain;
  }
  h.memory.unlock();
  return at;
}

void SharedStreams::release(SharedPlace at, uint64_t bytes) {
  Head& h = head();
  const uint64_t size = (bytes + grain - 1) / grain;
  SHEAF_ASSERT(at != 0 && size > 0 && size < std::size(h.free));
  if (h.memory.lock()) std::ranges::fill(h.free, 0);
  memory_.as<SharedPlace>(at) = h.free[size];
  h.free[size] = at;
  h.memory.unlock();
}

// --- Names.

// Adds a larger level of buckets. New entries go to the newest level. No entry ever changes its level, so no
// entry moves while another process searches.
void SharedStreams::add_level() {
  Head& h = head();
  const uint32_t count = h.level_count.load();
  if (count == std::size(h.levels)) return;
  const uint64_t buckets =
      count == 0 ? first_buckets : std::min(max_buckets, (h.levels[count - 1].mask + 1) * 8);
  const SharedPlace at = allocate(buckets * sizeof(SharedPlace));
  std::memset(memory_.at(at), 0, buckets * sizeof(SharedPlace));
  h.levels[count].mask = buckets - 1;
  h.levels[count].entries = 0;
  h.levels[count].buckets.store(at);
  h.level_count.store(count + 1);
}

SharedPlace SharedStreams::find_entry(std::string_view name) {
  Head& h = head();
  const uint64_t hash = hash_of_name(name);
  for (uint32_t k = h.level_count.load(); k-- > 0;) {
    const auto& level = h.levels[k];
    SharedPlace at =
        memory_.as<std::atomic<SharedPlace>>(level.buckets.load() + (hash & level.mask) * sizeof(SharedPlace))
            .load();
    for (; at != 0; at = entry(at).next.load()) {
      const SharedEntry& one = entry(at);
      if (one.hash == hash && std::string_view(one.name, one.bytes) == name) return at;
    }
  }
  return 0;
}

SharedPlace SharedStreams::find(std::string_view name) {
  const SharedPlace at = find_entry(name);
  return at == 0 ? 0 : entry(at).stream;
}

SharedPlace SharedStreams::find(const format::StreamKey& key) { return find(KeyText(key).view()); }

SharedPlace SharedStreams::make_entry(SharedPlace stream, std::string_view name) {
  if (auto& h = head(); h.levels[h.level_count - 1].entries >=
                        entries_per_bucket * static_cast<int64_t>(h.levels[h.level_count - 1].mask + 1))
    add_level();
  const SharedPlace at = allocate(entry_bytes(name.size()));
  SharedEntry& made = *::new (memory_.at(at)) SharedEntry{};
  made.hash = hash_of_name(name);
  made.stream = stream;
  made.bytes = static_cast<uint32_t>(name.size());
  std::memcpy(memory_.at(at) + offsetof(SharedEntry, name), name.data(), name.size());
  return at;
}

void SharedStreams::drop_entry(SharedPlace at) { release(at, entry_bytes(entry(at).bytes)); }

void SharedStreams::link(SharedPlace at) {
  Head& h = head();
  auto& level = h.levels[h.level_count.load() - 1];
  SharedEntry& one = entry(at);
  auto& bucket = memory_.as<std::atomic<SharedPlace>>(level.buckets.load() +
                                                      (one.hash & level.mask) * sizeof(SharedPlace));
  one.next.store(bucket.load());
  bucket.store(at);
  ++level.entries;
}

void SharedStreams::unlink(SharedPlace at) {
  Head& h = head();
  const uint64_t hash = entry(at).hash;
  for (uint32_t k = h.level_count.load(); k-- > 0;) {
    auto& level = h.levels[k];
    auto* link = &memory_.as<std::atomic<SharedPlace>>(level.buckets.load() +
                                                       (hash & level.mask) * sizeof(SharedPlace));
    for (; link->load() != 0; link = &entry(link->load()).next)
      if (link->load() == at) {
        link->store(entry(at).next.load());
        --level.entries;
        return;
      }
  }
}

void SharedStreams::note_key(SharedPlace at) { link(make_entry(at, KeyText(stream(at).key).view())); }

void SharedStreams::give_name(SharedPlace at, int64_t time) {
  SharedEntry& given = entry(at);
  if (const SharedPlace there = find({given.name, given.bytes}); there != 0 && there != given.stream)
    take_name(there);
  SharedStream& one = stream(given.stream);
  const SharedPlace before = one.entry.load();
  if (before != 0) unlink(before);
  one.named.store(time);
  one.changed.store(time);
  one.entry.store(at);
  note_named(one);
  link(at);
  if (before != 0) drop_entry(before);
}

void SharedStreams::note_named(SharedStream& one) {
  const bool is_own = one.key.origin == format::short_identity(head().identity);
  if (one.use.load() == StreamUse::unnamed) one.use.store(is_own ? StreamUse::bound : StreamUse::named);
}

void SharedStreams::take_name(SharedPlace at) {
  SharedStream& one = stream(at);
  const SharedPlace before = one.entry.load();
  if (before == 0) return;
  unlink(before);
  one.entry.store(0);
  drop_entry(before);
  let_go(at);
}

// --- Streams.

SharedPlace SharedStreams::make_stream(const format::StreamKey& key, uint32_t mode, int64_t time) {
  Head& h = head();
  SharedPlace at = h.spare.load();
  if (at != 0) {
    h.spare.store(stream(at).first.load());
  } else {
    at = allocate(sizeof(SharedStream));
    SharedStream& made = *::new (memory_.at(at)) SharedStream{};
    made.lock.make();
    made.all = h.all.load();
    h.all.store(at);
  }
  SharedStream& one = stream(at);
  one.key = key;
  one.mode = mode;
  one.size = one.cut = one.elsewhere = one.looked = one.opens = 0;
  one.cut_to = -1;
  one.first = one.moving = one.moved = one.grown = 0;
  one.over.at = 0;
  one.modified = one.changed = time;
  one.version.fetch_add(1);
  one.use = StreamUse::unnamed;
  return at;
}

// Frees a stream that is neither open nor named, unless its key must stay known.
void SharedStreams::close(SharedPlace at) {
  SharedStream& one = stream(at);
  // A copy of the process that has skipped the handlers of fork() has closed the stream.
  if (one.opens.load() <= 0) return;
  if (one.opens.fetch_sub(1) > 1 || one.entry.load() != 0) return;
  drop_pieces(one);
  if (const SharedPlace target = one.moved.exchange(0)) drop_target(target);
  if (find(one.key) != 0) return;
  one.use.store(StreamUse::free);
  one.first.store(head().spare.load());
  head().spare.store(at);
}

// --- Pieces.

void SharedStreams::drop_piece(SharedPlace at) {
  take_slots(memory_, piece(at).sums, [&](SharedPlace slots) { release(slots, sizeof(SharedSlots)); });
  release(at, sizeof(SharedPiece));
}

SharedPlace SharedStreams::make_target(std::string_view path) {
  const SharedPlace at = allocate(target_bytes(path.size()));
  SharedTarget& made = *::new (memory_.at(at)) SharedTarget{};
  made.bytes = static_cast<uint32_t>(path.size());
  std::memcpy(memory_.at(at) + offsetof(SharedTarget, path), path.data(), path.size());
  return at;
}

void SharedStreams::drop_target(SharedPlace at) { release(at, target_bytes(target(at).bytes)); }

void SharedStreams::add_piece(SharedStream& one, SharedPlace last, SharedPlace at) {
  auto& link = last == 0 ? one.first : piece(last).next;
  SHEAF_DEBUG_ASSERT(at != 0 && piece(at).next.load() == 0 && link.load() == 0);
  link.store(at, std::memory_order_release);
}

void SharedStreams::drop_pieces(SharedStream& one) {
  one.version.fetch_add(1);
  one.grown.store(0);
  one.over.at.store(0);
  SharedPlace at = one.first.exchange(0);
  while (at != 0) {
    const SharedPlace next = piece(at).next.load();
    drop_piece(at);
    at = next;
  }
}

void SharedStreams::cut_pieces(SharedStream& one, int64_t size) {
  for (SharedPlace at = one.first.load(); at != 0; at = piece(at).next.load()) {
    SharedPiece& p = piece(at);
    if (p.offset + p.length.load() > size) p.length.store(std::max<int64_t>(0, size - p.offset));
  }
}

void SharedStreams::cut(SharedStream& one, int64_t size, int64_t time) {
  one.cut_to.store(size);
  one.cut.store(time);
  if (size < one.size.load()) {
    one.version.fetch_add(1);
    if (size == 0) {
      drop_pieces(one);
    } else {
      cut_pieces(one, size);
    }
  }
  one.size.store(size);
  one.modified.store(time);
  one.changed.store(time);
  one.cut_to.store(-1);
}

// --- Repair after a kill.

// Empties all hash chains and returns the entries of keys.
std::vector<SharedPlace> SharedStreams::take_chains() {
  Head& h = head();
  std::vector<SharedPlace> keys;
  for (uint32_t k = 0; k < h.level_count.load(); ++k) {
    auto& level = h.levels[k];
    for (uint64_t b = 0; b <= level.mask; ++b) {
      auto& bucket = memory_.as<std::atomic<SharedPlace>>(level.buckets.load() + b * sizeof(SharedPlace));
      for (SharedPlace at = bucket.load(); at != 0; at = entry(at).next.load())
        if (entry(at).bytes == sizeof(KeyText) && entry(at).name[0] == '\0') keys.push_back(at);
      bucket.store(0);
    }
    level.entries = 0;
  }
  return keys;
}

// Links the name of the stream `at`. If another stream has the same name, the one that was named last keeps
// it.
void SharedStreams::mend_name(SharedPlace at) {
  SharedStream& one = stream(at);
  note_named(one);
  const SharedPlace other = find(name_of(at));
  if (other != 0 && stream(other).named.load() > one.named.load()) return one.entry.store(0);
  if (other != 0) unlink(stream(other).entry.exchange(0));
  link(one.entry.load());
}

// Rebuilds all hash chains from the list of streams, each of which refers to its name. Frees streams that
// never got a name.
void SharedStreams::mend_names() {
  Head& h = head();
  const auto is_unfinished = [&](const SharedStream& one) {
    return one.use.load() == StreamUse::unnamed && one.entry.load() == 0;
  };
  for (const SharedPlace at : take_chains())
    if (!is_unfinished(stream(entry(at).stream))) link(at);
  h.spare.store(0);
  for (SharedPlace at = h.all.load(); at != 0; at = stream(at).all) {
    SharedStream& one = stream(at);
    if (one.use.load() == StreamUse::free || is_unfinished(one)) {
      one.use.store(StreamUse::free);
      one.first.store(h.spare.load());
      h.spare.store(at);
    } else if (one.entry.load() != 0) {
      mend_name(at);
    }
  }
}

// Repairs a stream after a process was killed that held its lock. Completes a change of size or a move that
// was in progress. A piece that is not yet in the list does not count.
void SharedStreams::mend(SharedStream& one) {
  one.version.fetch_add(1);
  if (const int64_t size = one.cut_to.load(); size >= 0) {
    cut_pieces(one, size);
    one.size.store(size);
    one.cut_to.store(-1);
  }
  if (const SharedPlace target = one.moving.load()) one.moved.store(target);
  for (SharedPlace at = one.first.load(); at != 0; at = piece(at).next.load()) {
    const SharedPiece& p = piece(at);
    if (p.length.load() > 0) one.size.store(std::max(one.size.load(), p.offset + p.length.load()));
  }
}

}  // namespace sheaf::streams
