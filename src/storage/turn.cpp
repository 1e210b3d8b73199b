#include "storage/turn.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <cstdint>

#include "storage/posix_transfer.hpp"

namespace sheaf {

namespace {

constexpr long xfs_magic = 0x58465342;

struct flock on_last_byte(short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = INT64_MAX - 1;
  lock.l_len = 1;
  return lock;
}

}  // namespace

bool turns_pay(int fd) {
  struct statfs found;
  if (uninterrupted([&] { return ::fstatfs(fd, &found); }) != 0) return false;
  switch (static_cast<long>(found.f_type)) {
    case EXT4_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case TMPFS_MAGIC:
    case xfs_magic: return true;
    default: return false;
  }
}

Turn::Turn(int fd, std::mutex& among_threads) : among_threads_(among_threads), fd_(fd) {
  struct flock lock = on_last_byte(F_WRLCK);
  if (uninterrupted([&] { return ::fcntl(fd_, F_OFD_SETLKW, &lock); }) != 0) fd_ = -1;
}

Turn::~Turn() {
  if (fd_ < 0) return;
  struct flock lock = on_last_byte(F_UNLCK);
  ::fcntl(fd_, F_OFD_SETLK, &lock);
}

}  // namespace sheaf
