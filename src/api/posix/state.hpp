// api/posix/state: what descriptors of captured files share between processes of a host, as open file
// descriptions of the kernel do: offset, status flags and lock. A page of shared memory, a *slot*, belongs to
// each. Which slot a descriptor has is told by the descriptor itself, so that fork, dup, exec and posix_spawn
// hand it on without any help: it is open on an empty file of ours, at a position that says which slot, and
// which of its lives. Programs that know nothing of us read nothing from it and cannot write.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>
#include <string_view>

namespace sheaf::posix {

struct Slot {
  std::atomic<uint32_t> life;     // odd: in use. Changed by who takes it and by who gives it back
  std::atomic<uint32_t> holders;  // processes that have it open
  std::atomic<int64_t> offset;    // bytes
  std::atomic<int> flags;         // O_ACCMODE and the status flags, as F_GETFL shows them
  std::atomic<uint32_t> locked;   // the life in which others may have it uncounted: see state::lock()
  std::atomic<int> whole;         // LOCK_SH or LOCK_EX: what it has by flock(2); 0: nothing
  uint64_t
      stream;  // ContainerStream number; that, and what follows, is written before anybody else can see it
  uint32_t set_size, name_size;  // of `text`: path of the set, then the name of the stream
  uint64_t device;               // st_dev
  bool view;
  char text[4096 - 57];
};
static_assert(sizeof(Slot) == 4096 && std::atomic<int64_t>::is_always_lock_free);

// All of it made when first needed. Every call may come from any thread, inside (api/posix/inside.hpp).
namespace state {

// A descriptor at the lowest number that is free, and its slot, which has one holder and offset 0; -1 with
// errno if there is none, ENFILE if all slots are in use, ENOSPC if there is no memory for one more.
int reserve(int flags, Slot*& slot, bool close_on_exec) noexcept;
// What a descriptor that was inherited is; null: not one of ours. The caller becomes a holder, or is one
// already (`counted`).
Slot* adopt(int fd, bool counted) noexcept;
// Others may have the open file of this descriptor from now on: forked, spawned, by exec. A lock on a byte of
// the file that all such descriptors are open on goes with the last of them, however that ends; a slot
// without it is free, whatever was counted. Nothing for what is not one of ours. Takes no memory.
void lock(int fd) noexcept;
// The slot is given back when nobody holds it any more. One that is not shared, from malloc, is freed.
void release(Slot* slot) noexcept;
bool is_shared(const Slot* slot) noexcept;
// Whether lock() has been called for it, here or by others who share it.
inline bool is_locked(const Slot& slot) noexcept { return slot.locked.load() == slot.life.load(); }
// One that is not shared, which release() frees; `slot` itself if there is no memory for it.
Slot* copy_of(Slot& slot) noexcept;
// Opens a file of shared memory by its guessable name, created if missing; it may have been removed
// meanwhile. -1 with errno: EPERM for a link, and for all but a regular file of this user that has no other
// name. To be closed by close_own_descriptor().
int open_shared(const char* name) noexcept;
// One more descriptor on the file that those of all captured files are open on, which may lock ranges of it
// for writing; -1 with errno. To be closed by close_own_descriptor().
int open_for_locks() noexcept;
// Of the slot that a descriptor of a captured file has, below most_slots.
uint32_t slot_number(int fd) noexcept;
inline constexpr uint32_t most_slots = 1U << 16;
// What is locked there from this offset on is for flock(2); below are the bytes of lock().
inline constexpr int64_t first_for_locks = int64_t{1} << 32;

// At the end of the process: if no other has it, the shared memory goes. What destructors of other libraries
// open afterwards begins anew.
void leave() noexcept;
// The process has children, which hold what it holds: leave() does nothing any more, and `sheaf run` removes
// the shared memory.
void hand_on_lock() noexcept;

}  // namespace state

}  // namespace sheaf::posix
