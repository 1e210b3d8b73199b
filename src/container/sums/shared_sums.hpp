// container/sums/shared_sums: what the processes of a host share about the checksums of a stream while it is
// open (container/shared_streams). All of it under the lock of the stream.
#pragma once

#include <atomic>
#include <cstdint>

#include "container/sums/block_sums.hpp"
#include "process/host_memory.hpp"

namespace sheaf {

// More slots of a piece.
struct SharedSlots {
  uint64_t next;  // place of further ones; 0: none
  int64_t first;  // block
  int64_t count;
  int64_t at;  // place of the first one in the container
};

// Of a piece.
struct SharedSums {
  int64_t room;                     // place of block 0; 0: there are no checksums
  int64_t end_at;                   // place of the end word
  std::atomic<uint64_t> end;        // the end word of a piece that may grow
  std::atomic<uint32_t> appending;  // 1: words may say more than the length of the piece
  int64_t first;                    // block
  int64_t slots;                    // number of slots; 0: none
  int64_t slots_at;                 // place of the first one
  std::atomic<uint64_t> more;       // place of a SharedSlots, those with the greatest blocks first; 0: none
};
static_assert(sizeof(SharedSums) == 64);

// The block that is written over: its word in the container says that nothing is known of it. Its writers
// append to the checksum here, and write it when they go on to another block, or flush.
struct SharedOverwrite {
  std::atomic<int64_t> at;       // place of the word; 0: there is no such block
  std::atomic<uint64_t> sums;    // place of the SharedSums, if the word is an end word; else 0
  std::atomic<int64_t> place;    // of the block
  std::atomic<int64_t> block;    // its number
  std::atomic<uint64_t> word;    // that is right when `unsure` is 0
  std::atomic<uint32_t> unsure;  // 1: a writer is between the bytes and `word`
};

// Those of the block at `place`; `end`: the first place behind it for which they are others.
inline BlockSums sums_at(HostMemory& memory, const SharedSums& sums, int64_t place, int64_t& end) {
  BlockSums found{.room = sums.room, .end_at = sums.end_at};
  end = INT64_MAX;
  if (sums.room == 0) return found;
  const int64_t block = found.block_at(place);
  const auto take = [&](int64_t first, int64_t count, int64_t at) {
    if (block < first) end = std::min(end, found.place_of(first));
    if (block < first || block >= first + count) return;
    found.first = first;
    found.slots = count;
    found.slots_at = at;
    end = found.place_of(first + count);
  };
  for (uint64_t at = sums.more.load(); at != 0;) {
    const auto& more = memory.as<SharedSlots>(at);
    take(more.first, more.count, more.at);
    at = more.next;
  }
  take(sums.first, sums.slots, sums.slots_at);
  return found;
}

// Gives `sums` the slots at `at`, which are of greater blocks than those that it has.
inline void add_slots(HostMemory& memory, SharedSums& sums, uint64_t at, const SharedSlots& slots) {
  auto& made = memory.as<SharedSlots>(at);
  made = slots;
  made.next = sums.more.load();
  sums.more.store(at);
}

// Takes all of these from it; release(place) for each.
template <class Release>
void take_slots(HostMemory& memory, SharedSums& sums, Release release) {
  for (uint64_t at = sums.more.exchange(0); at != 0;) {
    const uint64_t next = memory.as<SharedSlots>(at).next;
    release(at);
    at = next;
  }
}

// The first block for which there is no slot.
inline int64_t blocks_with_slots(HostMemory& memory, const SharedSums& sums) {
  if (const uint64_t at = sums.more.load()) {
    const auto& more = memory.as<SharedSlots>(at);
    return more.first + more.count;
  }
  return sums.first + sums.slots;
}

}  // namespace sheaf
