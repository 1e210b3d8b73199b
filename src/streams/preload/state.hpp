// streams/preload/state: the state that descriptors of captured files share between processes of a host, like
// open file descriptions of the kernel: offset, status flags and lock. Each open file has a page of shared
// memory, a *slot*.
//
// The descriptor itself identifies its slot, so that fork, dup, exec and posix_spawn pass it on without help.
// It is open on an empty file of the library, at a position that encodes the slot and its life (reuse count).
// Unaware programs read nothing from it and cannot write.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>
#include <string_view>

namespace sheaf::posix {

struct Slot {
  std::atomic<uint32_t> life;     // odd: in use. Incremented on allocation and on release
  std::atomic<uint32_t> holders;  // processes that have it open
  std::atomic<int64_t> offset;    // bytes
  std::atomic<int> flags;         // O_ACCMODE and the status flags, as in F_GETFL
  std::atomic<uint32_t> locked;   // life in which uncounted processes may have it open: see state::lock()
  std::atomic<int> whole;         // lock held by flock(2): LOCK_SH or LOCK_EX; 0: none
  uint64_t stream;  // ContainerStream number. This and the following members are set before publication
  uint32_t set_size, name_size;  // lengths in `text`: path of the set, then the name of the stream
  uint64_t device;               // st_dev
  bool view;
  char text[4096 - 57];
};
static_assert(sizeof(Slot) == 4096 && std::atomic<int64_t>::is_always_lock_free);

// All state is created on first use. Functions are thread-safe and must be called within an Inside
// (streams/preload/inside.hpp).
namespace state {

// Returns a descriptor at the lowest free number, and its slot with one holder and offset 0. Returns -1 with
// errno on failure: ENFILE if all slots are in use, ENOSPC if memory for another slot is exhausted.
int reserve(int flags, Slot*& slot, bool close_on_exec) noexcept;
// Returns the slot of an inherited descriptor; null if it is not of this library. The caller becomes a holder
// unless it is one already (`counted`).
Slot* adopt(int fd, bool counted) noexcept;
// Prepares the slot for processes that inherit the descriptor by fork, spawn or exec. Locks a byte of the
// file that all such descriptors are open on. The kernel drops the lock with the last inherited descriptor,
// however its process ends. A slot without the lock is free, whatever its holder count. No effect on other
// descriptors. Allocates no memory.
void lock(int fd) noexcept;
// Drops one holder. The slot becomes free after the last one. A slot that is not shared, from malloc, is
// freed.
void release(Slot* slot) noexcept;
bool is_shared(const Slot* slot) noexcept;
// Returns whether lock() was called for the slot, in any process that shares it.
inline bool is_locked(const Slot& slot) noexcept { return slot.locked.load() == slot.life.load(); }
// Returns a copy that is not shared, which release() frees; returns `slot` itself if memory is exhausted.
Slot* copy_of(Slot& slot) noexcept;
// Opens a shared-memory file by its guessable name; creates it if missing. It may be removed concurrently.
// Returns -1 with errno on failure; EPERM if it is a symbolic link, or no regular file of this user with a
// single name. Close with close_own_descriptor().
int open_shared(const char* name) noexcept;
// Returns another descriptor on the file of all captured descriptors, which can take write locks on its
// ranges; -1 with errno. Close with close_own_descriptor().
int open_for_locks() noexcept;
// Returns the slot number of a captured descriptor, less than max_slots.
uint32_t slot_number(int fd) noexcept;
inline constexpr uint32_t max_slots = 1U << 16;
// Locks from this offset on are for flock(2); the bytes below are for lock().
inline constexpr int64_t first_for_locks = int64_t{1} << 32;

// Removes the shared memory at the end of the process if no other process uses it. Files that destructors of
// other libraries open afterwards start with new state.
void leave() noexcept;
// Passes the responsibility for the shared memory to child processes: leave() has no effect afterwards, and
// `sheaf run` removes the shared memory.
void hand_on_lock() noexcept;

}  // namespace state

}  // namespace sheaf::posix
