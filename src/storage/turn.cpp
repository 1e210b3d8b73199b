#include "storage/turn.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <unistd.h>

#include <cstdint>

#include "storage/posix_transfer.hpp"

namespace sheaf {

namespace {

constexpr long xfs_magic = 0x58465342;

// Bytes that no multifile reaches: the turn, and the place of the one who is next.
constexpr off_t turn_byte = INT64_MAX - 1;
constexpr off_t next_byte = INT64_MAX - 2;

constexpr useconds_t pause = 200;   // microseconds between two looks of the next one
constexpr int most_looks = 100;     // then it insists

bool lock(int fd, int command, short type, off_t byte) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = byte;
  range.l_len = 1;
  return uninterrupted([&] { return ::fcntl(fd, command, &range); }) == 0;
}

}  // namespace

bool turns_pay(long file_system) {
  switch (file_system) {
    case EXT4_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case TMPFS_MAGIC:
    case xfs_magic: return true;
    default: return false;
  }
}

// Whoever has the turn gives it back after every transfer and mostly wants it again at once. If that woke the next one
// each time, in vain, it would cost several percent; so the next one, while all others sleep, looks now and then.
Turn::Turn(int fd, std::mutex& among_threads) : among_threads_(among_threads), fd_(fd) {
  if (lock(fd_, F_OFD_SETLK, F_WRLCK, turn_byte)) return;
  const bool next = lock(fd_, F_OFD_SETLKW, F_WRLCK, next_byte);
  bool mine = false;
  for (int looks = 0; next && !mine && looks < most_looks; ++looks) {
    mine = lock(fd_, F_OFD_SETLK, F_WRLCK, turn_byte);
    if (!mine) ::usleep(pause);
  }
  if (!mine && !lock(fd_, F_OFD_SETLKW, F_WRLCK, turn_byte)) fd_ = -1;
  if (next) lock(fd, F_OFD_SETLK, F_UNLCK, next_byte);
}

Turn::~Turn() {
  if (fd_ >= 0) lock(fd_, F_OFD_SETLK, F_UNLCK, turn_byte);
}

}  // namespace sheaf
