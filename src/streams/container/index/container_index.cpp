#include "streams/container/index/container_index.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <vector>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "storage/times.hpp"

namespace sheaf::streams {

namespace {

constexpr int64_t latest = INT64_MAX / 2;  // year 2116; damaged times must not exhaust the clock

}  // namespace

void ContainerIndex::begin(const format::Identity& identity, bool summed) {
  constexpr SharedPlace end = HostMemory::first_free + sizeof(Head);
  memory_.reach(end);
  Head& made = *::new (memory_.at(HostMemory::first_free)) Head{};
  made.names_lock.make();
  made.tables.make();
  made.log.make();
  made.identity = identity;
  made.summed = summed;
  allocator_.begin(end);
  names_.begin();
}

int64_t ContainerIndex::tick() {
  const int64_t now = nanoseconds_now();
  std::atomic<int64_t>& clock = head().clock;
  int64_t before = clock.load(std::memory_order_relaxed);
  while (!clock.compare_exchange_weak(before, std::max(now, before + 1), std::memory_order_acq_rel)) {
  }
  return std::max(now, before + 1);
}

void ContainerIndex::hear(int64_t time) {
  time = std::min(time, latest);
  std::atomic<int64_t>& clock = head().clock;
  int64_t before = clock.load(std::memory_order_relaxed);
  while (before < time && !clock.compare_exchange_weak(before, time, std::memory_order_acq_rel)) {
  }
}

// --- Names.

void ContainerIndex::give_name(SharedPlace at, int64_t time) {
  const SharedPlace named = names_.entry(at).stream;
  if (const SharedPlace there = names_.find(names_.text(at)); there != 0 && there != named) take_name(there);
  SharedStream& one = stream(named);
  const SharedPlace before = one.entry.load();
  if (before != 0) names_.unlink(before);
  one.named.store(time);
  one.changed.store(time);
  one.entry.store(at);
  note_named(one);
  names_.link(at);
  if (before != 0) names_.drop_entry(before);
}

void ContainerIndex::note_named(SharedStream& one) {
  const bool is_own = one.key.origin == format::short_identity(head().identity);
  if (one.use.load() == StreamUse::unnamed) one.use.store(is_own ? StreamUse::bound : StreamUse::named);
}

void ContainerIndex::take_name(SharedPlace at) {
  SharedStream& one = stream(at);
  const SharedPlace before = one.entry.load();
  if (before == 0) return;
  names_.unlink(before);
  one.entry.store(0);
  names_.drop_entry(before);
  let_go(at);
}

// --- Streams.

SharedPlace ContainerIndex::make_stream(const format::StreamKey& key, uint32_t mode, int64_t time) {
  Head& h = head();
  SharedPlace at = h.spare.load();
  if (at != 0) {
    h.spare.store(stream(at).first.load());
  } else {
    at = allocator_.make<SharedStream>();
    SharedStream& made = stream(at);
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
void ContainerIndex::close(SharedPlace at) {
  SharedStream& one = stream(at);
  // A copy of the process that has skipped the handlers of fork() has closed the stream.
  if (one.opens.load() <= 0) return;
  if (one.opens.fetch_sub(1) > 1 || one.entry.load() != 0) return;
  drop_pieces(one);
  if (const SharedPlace target = one.moved.exchange(0)) allocator_.drop_with<SharedTarget>(target);
  if (find(one.key) != 0) return;
  one.use.store(StreamUse::free);
  one.first.store(head().spare.load());
  head().spare.store(at);
}

// --- Pieces.

void ContainerIndex::drop_piece(SharedPlace at) {
  take_slots(memory_, piece(at).sums, [&](SharedPlace slots) { allocator_.drop<SharedSlots>(slots); });
  allocator_.drop<SharedPiece>(at);
}

void ContainerIndex::add_piece(SharedStream& one, SharedPlace last, SharedPlace at) {
  auto& link = last == 0 ? one.first : piece(last).next;
  SHEAF_DEBUG_ASSERT(at != 0 && piece(at).next.load() == 0 && link.load() == 0);
  link.store(at, std::memory_order_release);
}

void ContainerIndex::drop_pieces(SharedStream& one) {
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

void ContainerIndex::cut_pieces(SharedStream& one, int64_t size) {
  for (SharedPlace at = one.first.load(); at != 0; at = piece(at).next.load()) {
    SharedPiece& p = piece(at);
    if (p.offset + p.length.load() > size) p.length.store(std::max<int64_t>(0, size - p.offset));
  }
}

void ContainerIndex::cut(SharedStream& one, int64_t size, int64_t time) {
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

// Links the name of the stream `at`. If another stream has the same name, the one that was named last keeps
// it.
void ContainerIndex::mend_name(SharedPlace at) {
  SharedStream& one = stream(at);
  note_named(one);
  const SharedPlace other = names_.find(name_of(at));
  if (other != 0 && stream(other).named.load() > one.named.load()) return one.entry.store(0);
  if (other != 0) names_.unlink(stream(other).entry.exchange(0));
  names_.link(one.entry.load());
}

// Rebuilds all hash chains from the list of streams, each of which refers to its name. Frees streams that
// never got a name.
void ContainerIndex::mend_names() {
  Head& h = head();
  const auto is_unfinished = [&](const SharedStream& one) {
    return one.use.load() == StreamUse::unnamed && one.entry.load() == 0;
  };
  for (SharedPlace at = names_.clear(), next = 0; at != 0; at = next) {
    next = names_.entry(at).next.load();
    if (!is_unfinished(stream(names_.entry(at).stream))) names_.link(at);
  }
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
void ContainerIndex::mend(SharedStream& one) {
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
