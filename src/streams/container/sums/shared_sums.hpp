// streams/container/sums/shared_sums: state of the checksums of an open stream that the processes of a host
// share (streams/container/index/container_index). Guarded by the lock of the stream.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/assert.hpp"
#include "base/os/host_memory.hpp"
#include "streams/container/sums/block_sums.hpp"

namespace sheaf::streams {

// Additional slots of a piece.
struct SharedSlots {
  uint64_t next;  // place of the next additional slots; 0: none
  int64_t first;  // block number
  int64_t count;
  int64_t at;  // place of the first slot in the container
};

// Checksum state of a piece.
struct SharedSums {
  int64_t room;                     // place of block 0; 0: no checksums
  int64_t end_at;                   // place of the end word
  std::atomic<uint64_t> end;        // end word of a piece that may grow
  std::atomic<uint32_t> appending;  // 1: an append has begun, so words may cover more than the piece
  int64_t slots;                    // number of slots, from block 0 on; 0: none
  int64_t slots_at;                 // place of the first slot
  std::atomic<uint64_t> more;       // place of a SharedSlots, largest block numbers first; 0: none
};

// The block that is being overwritten. Its word in the container says "unknown" until the overwrite ends.
// Writers keep the checksum in this struct, and write it to the container when they flush or change to
// another block.
struct SharedOverwrite {
  std::atomic<int64_t> at;       // place of the word; 0: no such block
  std::atomic<uint64_t> sums;    // place of the SharedSums if the word is an end word, else 0
  std::atomic<int64_t> place;    // place of the block
  std::atomic<int64_t> block;    // its number
  std::atomic<uint64_t> word;    // the checksum word; valid while `unsure` is 0
  std::atomic<uint32_t> unsure;  // 1: a writer is between changing the bytes and `word`
};

// Returns the places of the checksum words for the block at `place`. Sets `end` to the first place after
// `place` to which the result does not apply.
inline BlockSums sums_at(HostMemory& memory, const SharedSums& sums, int64_t place, int64_t& end) {
  BlockSums found{.room = sums.room, .end_at = sums.end_at};
  end = INT64_MAX;
  if (sums.room == 0) return found;
  const int64_t block = found.block_at(place);
  const auto take = [&](int64_t first, int64_t count, int64_t at) {
    if (block < first) end = std::min(end, found.place_of(first));
    if (block < first || block >= first + count) return;
    found = {sums.room, first, count, at, sums.end_at};
    end = found.place_of(first + count);
  };
  for (uint64_t at = sums.more.load(); at != 0;) {
    const auto& more = memory.as<SharedSlots>(at);
    take(more.first, more.count, more.at);
    at = more.next;
  }
  take(0, sums.slots, sums.slots_at);
  return found;
}

// Stores `slots` at `at` and adds them to `sums`. Their block numbers must exceed those of all present slots.
inline void add_slots(HostMemory& memory, SharedSums& sums, uint64_t at, const SharedSlots& slots) {
  SHEAF_ASSERT(at != 0 && slots.count > 0);
  auto& made = memory.as<SharedSlots>(at);
  made = slots;
  made.next = sums.more.load();
  sums.more.store(at);
}

// Removes all additional slots from `sums` and calls release(place) for each.
template <class Release>
void take_slots(HostMemory& memory, SharedSums& sums, Release release) {
  for (uint64_t at = sums.more.exchange(0); at != 0;) {
    const uint64_t next = memory.as<SharedSlots>(at).next;
    release(at);
    at = next;
  }
}

// Returns the number of the first block without a slot.
inline int64_t blocks_with_slots(HostMemory& memory, const SharedSums& sums) {
  if (const uint64_t at = sums.more.load()) {
    const auto& more = memory.as<SharedSlots>(at);
    return more.first + more.count;
  }
  return sums.slots;
}

}  // namespace sheaf::streams
