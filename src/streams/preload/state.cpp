#include "streams/preload/state.hpp"
#include "streams/preload/inside.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/assert.hpp"
#include "streams/capture/shared_names.hpp"
#include "streams/preload/fork_mutex.hpp"
#include "streams/preload/names/rules.hpp"
#include "streams/preload/own_descriptors.hpp"
#include "streams/preload/real.hpp"

namespace sheaf::preload::state {

namespace {

// The table of slots, shared by processes. It takes 256 MiB of address space. The page of a slot is allocated
// when the slot is first used.
struct SlotTable {
  std::atomic<uint32_t> hint;  // start of the search for a free slot
  std::atomic<uint32_t> made;  // slots with lower numbers have a page
  char rest[4096 - 8];
  Slot slots[max_slots];
};

struct SlotMapping {
  SlotTable* shared = nullptr;
  int fd = -1;  // file of the slots; the process holds a shared lock on it while it needs them
  char identity[80] = "";
  dev_t device = 0;
  ino_t inode = 0;
  std::atomic<bool> handed_on{false};
};
constinit SlotMapping own{};
constinit ForkMutex opening{Guards::slots};

constexpr size_t max_length = 80;
void names(char (&slots)[max_length], char (&identity)[max_length]) {
  char prefix[64];
  streams::capture_prefix(rules_identity(), prefix);
  snprintf(slots, sizeof slots, "%sslots", prefix);
  snprintf(identity, sizeof identity, "%sopen", prefix);
}

bool ours(const struct stat& status) {
  return S_ISREG(status.st_mode) && status.st_uid == geteuid() && status.st_nlink == 1;
}

// Allocates `size` bytes of the file at offset `at`, and extends the file if it is shorter. The process maps
// more than the file has, but accesses only allocated ranges. Checks RLIMIT_FSIZE first, because an attempt
// to exceed the limit would raise SIGXFSZ. Returns false with errno on failure.
bool make_room(int fd, off64_t at, off64_t size) {
  rlimit64 limit;
  if (getrlimit64(RLIMIT_FSIZE, &limit) == 0 && uint64_t(at + size) > limit.rlim_cur)
    return errno = EFBIG, false;
  return fallocate64(fd, 0, at, size) == 0;
}

}  // namespace

int open_shared(const char* name) noexcept {
  const int fd = own_descriptor(real::open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  struct stat status;
  if (fd < 0) return -1;
  if (fstat(fd, &status) == 0 && (ours(status) || status.st_nlink == 0)) return fd;
  close_own_descriptor(fd);
  errno = EPERM;
  return -1;
}

namespace {

// Opens the file of the slots with a lock that prevents its removal. Returns -1 with errno.
int open_slots(const char* name) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    const int fd = open_shared(name);
    if (fd < 0) return -1;
    struct stat status;
    const bool known = flock(fd, LOCK_SH) == 0 && fstat(fd, &status) == 0;
    if (known && ours(status) && make_room(fd, 0, offsetof(SlotTable, slots))) return fd;
    const int error = known && ours(status) ? errno : EPERM;
    const bool again = known && status.st_nlink == 0;  // its last user has just removed the file
    close_own_descriptor(fd);
    errno = error;
    if (!again) break;
  }
  return -1;
}

bool open_all() {
  char slots[max_length];
  names(slots, own.identity);
  const int fd = open_slots(slots);
  if (fd < 0) return false;
  void* const memory = mmap(nullptr, sizeof(SlotTable), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int identity =
      real::open(own.identity, O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  struct stat status;
  const bool good = memory != MAP_FAILED && identity >= 0 && fstat(identity, &status) == 0 && ours(status);
  if (identity >= 0) real::close(identity);
  if (!good) {
    if (memory != MAP_FAILED) munmap(memory, sizeof(SlotTable));
    close_own_descriptor(fd);
    return false;
  }
  own.device = status.st_dev;
  own.inode = status.st_ino;
  own.fd = fd;
  std::atomic_ref(own.shared).store(static_cast<SlotTable*>(memory), std::memory_order_release);
  return true;
}

SlotTable* shared() {
  if (SlotTable* const found = std::atomic_ref(own.shared).load(std::memory_order_acquire)) return found;
  const std::lock_guard guard(opening);
  return own.shared || open_all() ? own.shared : nullptr;
}

constexpr uint32_t looked_over = 64;  // number of slots to create before the existing ones are searched again
constexpr uint32_t swept = 1024;      // number of slots to create before the next sweep for abandoned slots

off64_t position(uint32_t number, uint32_t life) { return off64_t(uint64_t(life) << 20 | (number + 1)); }
uint32_t number_at(off64_t position) { return uint32_t(position & 0xfffff) - 1; }

struct flock byte_of(uint32_t number, short type) {
  return {.l_type = type, .l_whence = SEEK_SET, .l_start = number, .l_len = 1, .l_pid = 0};
}

// Frees abandoned slots: slots with a lock of lock() that the kernel has dropped since. All descriptors of
// such a slot are closed, but no process has released the slot, for example because its processes were
// killed. Returns true if a slot was freed.
bool sweep(SlotTable& all) {
  const int fd = real::open(own.identity, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
  if (fd < 0) return false;
  bool any = false;
  for (uint32_t number = 0; number < all.made.load(); ++number) {
    Slot& slot = all.slots[number];
    uint32_t life = slot.life.load();
    if (life % 2 == 0 || slot.locked.load() != life) continue;
    struct flock range = byte_of(number, F_WRLCK);
    if (real::fcntl(fd, F_OFD_GETLK, reinterpret_cast<long>(&range)) == 0 && range.l_type == F_UNLCK)
      any |= slot.life.compare_exchange_strong(life, life + 1);
  }
  real::close(fd);
  return any;
}

Slot* take_between(SlotTable& all, uint32_t from, uint32_t to, uint32_t& number) {
  for (number = from; number < to; ++number) {
    Slot& slot = all.slots[number];
    uint32_t life = slot.life.load(std::memory_order_relaxed);
    if (life % 2 != 0 || !slot.life.compare_exchange_strong(life, life + 1)) continue;
    all.hint.store(number + 1, std::memory_order_relaxed);
    return &slot;
  }
  return nullptr;
}

// Allocates file system space for the page of the slot `number`. Without this space, an access to the page
// would raise SIGBUS. Returns 0 or an errno.
int make_slot(SlotTable& all, uint32_t number) {
  if (number >= max_slots) return ENFILE;
  const auto at = off64_t(offsetof(SlotTable, slots) + number * sizeof(Slot));
  if (!make_room(own.fd, at, sizeof(Slot))) return errno;
  all.made.compare_exchange_strong(number, number + 1);
  return 0;
}

// Allocates a slot and stores its number. Returns null with errno if all slots are in use or memory is
// exhausted.
Slot* take(SlotTable& all, uint32_t& number) {
  uint32_t made = all.made.load();
  if (Slot* const slot = take_between(all, all.hint.load(), made, number)) return slot;
  for (int error = 0;; made = all.made.load()) {
    if (made % looked_over == 0 || error != 0) {
      if (Slot* const slot = take_between(all, 0, made, number)) return slot;
      if ((made % swept == 0 || error != 0) && sweep(all))
        if (Slot* const slot = take_between(all, 0, made, number)) return slot;
    }
    if (error != 0) return errno = error, nullptr;
    error = make_slot(all, made);
    if (error != 0) continue;
    if (Slot* const slot = take_between(all, made, all.made.load(), number)) return slot;
  }
}

}  // namespace

int reserve(int flags, Slot*& slot, bool close_on_exec) noexcept {
  SHEAF_ASSERT(is_inside());
  SlotTable* const all = shared();
  if (!all) return -1;
  uint32_t number = 0;
  slot = take(*all, number);
  if (!slot) return -1;
  slot->holders.store(1);
  slot->offset.store(0);
  slot->flags.store(flags);
  slot->whole.store(0);
  const int fd = real::open(own.identity, O_RDONLY | O_NOFOLLOW | (close_on_exec ? O_CLOEXEC : 0), 0);
  const off64_t at = position(number, slot->life.load());
  if (fd >= 0 && real::lseek(fd, at, SEEK_SET) == at) return fd;
  const KeptErrno kept;
  if (fd >= 0) real::close(fd);
  release(slot);
  return -1;
}

namespace {

// Returns the slot that `at`, the file position of a descriptor, encodes. Returns null if `at` encodes no
// slot or if the slot has been released since.
Slot* slot_at(SlotTable& all, off64_t at, uint32_t& number) {
  number = number_at(at);
  if (at <= 0 || number >= all.made.load()) return nullptr;
  Slot& slot = all.slots[number];
  return position(number, slot.life.load()) == at ? &slot : nullptr;
}

}  // namespace

void lock(int fd) noexcept {
  if (!own.shared) return;
  uint32_t number = 0;
  Slot* const slot = slot_at(*own.shared, real::lseek(fd, 0, SEEK_CUR), number);
  struct stat status;
  if (!slot || is_locked(*slot) || fstat(fd, &status) != 0 || status.st_dev != own.device ||
      status.st_ino != own.inode)
    return;
  struct flock range = byte_of(number, F_RDLCK);
  if (real::fcntl(fd, F_OFD_SETLK, reinterpret_cast<long>(&range)) == 0)
    slot->locked.store(slot->life.load());
}

Slot* adopt(int fd, bool counted) noexcept {
  SHEAF_ASSERT(is_inside());
  struct stat status, directory;
  if (fstat(fd, &status) != 0 || !ours(status)) return nullptr;
  if (stat("/dev/shm", &directory) != 0 || directory.st_dev != status.st_dev) return nullptr;
  SlotTable* const all = shared();
  if (!all || status.st_dev != own.device || status.st_ino != own.inode) return nullptr;
  uint32_t number = 0;
  Slot* const slot = slot_at(*all, real::lseek(fd, 0, SEEK_CUR), number);
  if (slot && !counted) slot->holders.fetch_add(1);
  return slot;
}

bool is_shared(const Slot* slot) noexcept {
  return own.shared && slot >= own.shared->slots && slot < own.shared->slots + max_slots;
}

int open_for_locks() noexcept {
  return own_descriptor(real::open(own.identity, O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0));
}

uint32_t slot_number(int fd) noexcept { return number_at(real::lseek(fd, 0, SEEK_CUR)) % max_slots; }

Slot* copy_of(Slot& slot) noexcept {
  void* const copy = malloc(sizeof(Slot));
  return copy ? static_cast<Slot*>(memcpy(copy, static_cast<const void*>(&slot), sizeof(Slot))) : &slot;
}

void release(Slot* slot) noexcept {
  if (!is_shared(slot)) return free(slot);
  if (slot->holders.fetch_sub(1) != 1 || is_locked(*slot)) return;
  const auto number = uint32_t(slot - own.shared->slots);
  slot->life.fetch_add(1);
  own.shared->hint.store(number, std::memory_order_relaxed);  // start the next search at a recently used page
}

void leave() noexcept {
  if (!own.shared || own.handed_on.load()) return;
  std::atomic_ref(own.shared).store(nullptr, std::memory_order_release);  // stays mapped for other threads
  close_own_descriptor(std::exchange(own.fd, -1));
  streams::remove_capture_memory(rules_identity());
}

void hand_on_lock() noexcept { own.handed_on.store(true); }

}  // namespace sheaf::preload::state
