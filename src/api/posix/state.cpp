#include "api/posix/state.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "api/posix/fork_mutex.hpp"
#include "api/posix/names/rules.hpp"
#include "api/posix/own_descriptors.hpp"
#include "api/posix/real.hpp"
#include "capture/shared_names.hpp"

namespace sheaf::posix::state {

namespace {

constexpr uint32_t most_slots = 1U << 16;  // 256 MiB of addresses; pages come with their first use

struct Shared {
  std::atomic<uint32_t> hint;  // where to look for a free slot
  char rest[4096 - 4];
  Slot slots[most_slots];
};

struct State {
  Shared* shared = nullptr;
  int fd = -1;  // of the slots; holds a shared lock on them as long as the process may need them
  char identity[80] = "";
  dev_t device = 0;
  ino_t inode = 0;
  std::atomic<bool> handed_on{false};
};
constinit State own{};
constinit ForkMutex opening{Guards::slots};

constexpr size_t longest = 80;
void names(char (&slots)[longest], char (&identity)[longest]) {
  char prefix[64];
  capture_prefix(rules_identity(), prefix);
  snprintf(slots, sizeof slots, "%sslots", prefix);
  snprintf(identity, sizeof identity, "%sopen", prefix);
}

bool ours(const struct stat& status) {
  return S_ISREG(status.st_mode) && status.st_uid == geteuid() && status.st_nlink > 0;
}

// The file of the slots, locked against removal; -1 with errno.
int open_slots(const char* name) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    const int fd = own_descriptor(real::open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd < 0) return -1;
    struct stat status;
    if (flock(fd, LOCK_SH) == 0 && fstat(fd, &status) == 0 && ours(status) &&
        ftruncate(fd, sizeof(Shared)) == 0)
      return fd;
    const bool again = status.st_nlink == 0;  // who was last has removed it meanwhile
    close_own_descriptor(fd);
    if (!again) break;
  }
  errno = EPERM;
  return -1;
}

bool open_all() {
  char slots[longest];
  names(slots, own.identity);
  const int fd = open_slots(slots);
  if (fd < 0) return false;
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int identity = real::open(own.identity, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  struct stat status;
  const bool good = memory != MAP_FAILED && identity >= 0 && fstat(identity, &status) == 0 && ours(status);
  if (identity >= 0) real::close(identity);
  if (!good) {
    if (memory != MAP_FAILED) munmap(memory, sizeof(Shared));
    close_own_descriptor(fd);
    return false;
  }
  own.device = status.st_dev;
  own.inode = status.st_ino;
  own.fd = fd;
  std::atomic_ref(own.shared).store(static_cast<Shared*>(memory), std::memory_order_release);
  return true;
}

Shared* shared() {
  Shared* found = std::atomic_ref(own.shared).load(std::memory_order_acquire);
  if (found) return found;
  opening.lock();
  if (own.shared || open_all()) found = own.shared;
  opening.unlock();
  return found;
}

Slot* take(Shared& all, uint32_t& number) {
  const uint32_t begin = all.hint.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < most_slots; ++i) {
    number = (begin + i) % most_slots;
    Slot& slot = all.slots[number];
    uint32_t life = slot.life.load(std::memory_order_relaxed);
    if (life % 2 != 0 || !slot.life.compare_exchange_strong(life, life + 1)) continue;
    all.hint.store(number + 1 == most_slots ? 0 : number + 1, std::memory_order_relaxed);
    return &slot;
  }
  return nullptr;
}

off64_t position(uint32_t number, uint32_t life) { return off64_t(uint64_t(life) << 20 | (number + 1)); }

}  // namespace

int reserve(int flags, Slot*& slot, bool close_on_exec) noexcept {
  Shared* const all = shared();
  if (!all) return -1;
  uint32_t number = 0;
  slot = take(*all, number);
  if (!slot) {
    errno = ENFILE;
    return -1;
  }
  slot->holders.store(1);
  slot->offset.store(0);
  slot->flags.store(flags);
  slot->kept.store(false);
  const int fd = real::open(own.identity, O_RDONLY | O_NOFOLLOW | (close_on_exec ? O_CLOEXEC : 0), 0);
  const off64_t at = position(number, slot->life.load());
  if (fd >= 0 && real::lseek(fd, at, SEEK_SET) == at) return fd;
  const int error = errno;
  if (fd >= 0) real::close(fd);
  release(slot);
  errno = error;
  return -1;
}

Slot* adopt(int fd, bool counted) noexcept {
  struct stat status, directory;
  if (fstat(fd, &status) != 0 || !ours(status) || status.st_size != 0) return nullptr;
  if (stat("/dev/shm", &directory) != 0 || directory.st_dev != status.st_dev) return nullptr;
  Shared* const all = shared();
  if (!all || status.st_dev != own.device || status.st_ino != own.inode) return nullptr;
  const off64_t at = real::lseek(fd, 0, SEEK_CUR);
  const uint32_t number = uint32_t(at & 0xfffff) - 1;
  if (at <= 0 || number >= most_slots) return nullptr;
  Slot& slot = all->slots[number];
  if (position(number, slot.life.load()) != at) return nullptr;
  if (!counted) slot.holders.fetch_add(1);
  return &slot;
}

bool is_shared(const Slot* slot) noexcept {
  return own.shared && slot >= own.shared->slots && slot < own.shared->slots + most_slots;
}

void release(Slot* slot) noexcept {
  if (!is_shared(slot)) return free(slot);
  if (slot->holders.fetch_sub(1) != 1 || slot->kept.load()) return;
  const auto number = uint32_t(slot - own.shared->slots);
  slot->life.fetch_add(1);
  own.shared->hint.store(number, std::memory_order_relaxed);  // its page is warm
}

void leave() noexcept {
  if (own.shared && !own.handed_on.load() && flock(own.fd, LOCK_UN) == 0)
    remove_capture_memory(rules_identity());
}

void hand_on_lock() noexcept { own.handed_on.store(true); }

}  // namespace sheaf::posix::state
