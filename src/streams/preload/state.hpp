// streams/preload/state: the state that descriptors of captured files share between processes of a host, like
// open file descriptions of the kernel: offset, status flags and lock. Each open file has a page of shared
// memory, a *slot*.
//
// A descriptor identifies its slot by itself, so that fork, dup, exec and posix_spawn need not cooperate. All
// captured descriptors are open, for reading only, on one empty file of the library. The file position
// encodes the slot and its life (reuse count). A program without this library therefore reads nothing from an
// inherited descriptor, and cannot write to it.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>
#include <string_view>

namespace sheaf::preload {

struct Slot {
  std::atomic<uint32_t> life;     // odd: in use. Incremented on allocation and on release
  std::atomic<uint32_t> holders;  // number of processes that have the file open
  std::atomic<int64_t> offset;    // bytes
  std::atomic<int> flags;         // O_ACCMODE and the status flags, as in F_GETFL
  std::atomic<uint32_t> locked;   // the life in which state::lock() has locked the slot
  std::atomic<int> whole;         // lock held by flock(2): LOCK_SH or LOCK_EX; 0: none
  uint64_t stream;  // ContainerStream number. This and the following members are set before publication
  uint32_t set_size, name_size;  // lengths in `text`: path of the set, then the name of the stream
  uint64_t device;               // st_dev
  bool view;
  char text[4096 - 57];
};
static_assert(sizeof(Slot) == 4096 && std::atomic<int64_t>::is_always_lock_free);

// The shared memory is created on first use. All functions are thread-safe and must be called within an
// Inside (streams/preload/inside.hpp).
namespace state {

// Allocates a slot with one holder and offset 0, stores it in `slot`, and returns a descriptor of it at the
// lowest free number. Returns -1 with errno on failure: ENFILE if all slots are in use, ENOSPC if memory for
// another slot is exhausted.
int reserve(int flags, Slot*& slot, bool close_on_exec) noexcept;
// Returns the slot of an inherited descriptor; null if the descriptor is not captured. Counts the calling
// process as a holder, unless `counted` says that it is one already.
Slot* adopt(int fd, bool counted) noexcept;
// Prepares the slot of `fd` for processes that inherit the descriptor by fork, spawn or exec. Locks a byte of
// the file that all captured descriptors are open on. The kernel drops the lock with the last inherited
// descriptor, however its process ends. From then on, the existence of the lock decides whether the slot is
// in use, instead of the number of holders. Has no effect on descriptors that are not captured. Allocates no
// memory.
void lock(int fd) noexcept;
// Drops one holder of a shared slot. The last holder frees the slot, unless lock() was called for it.
// Deallocates a slot that copy_of() has returned.
void release(Slot* slot) noexcept;
bool is_shared(const Slot* slot) noexcept;
// Returns whether any process has called lock() for the slot in its current life.
inline bool is_locked(const Slot& slot) noexcept { return slot.locked.load() == slot.life.load(); }
// Returns a private copy of the slot, to be freed by release(). Returns `slot` itself if memory is exhausted.
Slot* copy_of(Slot& slot) noexcept;
// Opens the shared-memory file `name`, and creates it if missing. Another process may remove the file at any
// time. Returns a descriptor for close_own_descriptor(), or -1 with errno. Fails with EPERM if the file is a
// symbolic link, or is not a regular file of this user with a single name: another user could have created
// the name, because it can be guessed.
int open_shared(const char* name) noexcept;
// Opens the file of all captured descriptors for writing, as write locks on its ranges require. Returns a
// descriptor for close_own_descriptor(), or -1 with errno.
int open_for_locks() noexcept;
// Returns the slot number of a captured descriptor, less than max_slots.
uint32_t slot_number(int fd) noexcept;
inline constexpr uint32_t max_slots = 1U << 16;
// Offset that separates the locks in the file of all captured descriptors: lock() uses lower offsets, and
// locks of flock(2) are at this offset and above.
inline constexpr int64_t first_for_locks = int64_t{1} << 32;

// Removes the shared memory if no other process uses it. Called at the end of the process. If a destructor of
// another library opens a captured file later, the library creates new shared memory.
void leave() noexcept;
// Leaves the shared memory to other processes: leave() has no effect afterwards. `sheaf run` removes the
// shared memory at its end.
void hand_on_lock() noexcept;

}  // namespace state

}  // namespace sheaf::preload
