// storage/posix/locked_slots: WriteSlots among processes. Byte s of the file is locked by whoever has slot s;
// the byte behind the last slot by the one task that looks for a free slot, so that the others sleep, in
// order.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "base/error.hpp"
#include "storage/posix/posix_file.hpp"
#include "storage/system/posix_transfer.hpp"
#include "storage/write_slots.hpp"

namespace sheaf {

namespace {

constexpr useconds_t shortest_pause = 50;  // microseconds between two looks for a free slot
constexpr useconds_t longest_pause = 1000;

class LockedSlots final : public WriteSlots {
 public:
  LockedSlots(std::string name, int fd, int count) : name_(std::move(name)), fd_(fd), count_(count) {}
  ~LockedSlots() override { ::close(fd_); }

  int take() override {
    std::unique_lock own(mutex_);
    if (count_ == 1) {
      require(lock(F_OFD_SETLKW, F_WRLCK, 0));
    } else {
      require(lock(F_OFD_SETLKW, F_WRLCK, count_));
      const bool found = find_free();
      const int error = errno;
      lock(F_OFD_SETLK, F_UNLCK, count_);
      errno = error;
      require(found);
    }
    own.release();  // until give_back
    return last_;
  }

  void give_back(int slot) noexcept override {
    lock(F_OFD_SETLK, F_UNLCK, slot);
    mutex_.unlock();
  }

  const std::string& name() const override { return name_; }
  void hide() noexcept override { ::unlink(name_.c_str()); }

 private:
  bool lock(int command, short type, int byte) const {
    struct flock range {};
    range.l_type = type;
    range.l_whence = SEEK_SET;
    range.l_start = byte;
    range.l_len = 1;
    return uninterrupted([&] { return ::fcntl(fd_, command, &range); }) == 0;
  }

  // Takes any slot, as soon as one is free. False, with errno, if locking fails otherwise than by being
  // taken.
  bool find_free() {
    for (useconds_t pause = shortest_pause;; pause = std::min(2 * pause, longest_pause)) {
      for (int tries = 0; tries < count_; ++tries) {
        if (lock(F_OFD_SETLK, F_WRLCK, last_)) return true;
        if (errno != EAGAIN && errno != EACCES) return false;
        last_ = (last_ + 1) % count_;
      }
      ::usleep(pause);
    }
  }

  void require(bool locked) const {
    if (!locked) throw os_error("cannot lock a write slot in", name_, errno);
  }

  const std::string name_;
  const int fd_;
  const int count_;
  int last_ = 0;      // the slot that was taken last: often free again
  std::mutex mutex_;  // held with the slot: the kernel does not tell threads with one descriptor apart
};

std::string directory_for_slots() {
  if (::access("/dev/shm", W_OK | X_OK) == 0) return "/dev/shm";
  const char* const set = std::getenv("TMPDIR");
  return set && *set ? set : "/tmp";
}

}  // namespace

std::shared_ptr<WriteSlots> make_locked_slots(int count) {
  static std::atomic<unsigned> next{0};
  const std::string prefix = directory_for_slots() + "/sheaf-slots." + std::to_string(::getpid()) + ".";
  constexpr int most_tries = 1000;  // leftovers of killed processes are passed over
  for (int tries = 0;; ++tries) {
    const std::string name = prefix + std::to_string(next++);
    const int fd = uninterrupted(
        [&] { return ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600); });
    if (fd < 0 && errno == EEXIST && tries < most_tries) continue;
    if (fd < 0) throw os_error("cannot create the file for write slots", name, errno);
    std::shared_ptr<WriteSlots> made;
    try {
      made = std::make_shared<LockedSlots>(name, fd, count);
      made->give_back(made->take());  // says now whether files can be locked here
    } catch (...) {
      if (!made) ::close(fd);
      ::unlink(name.c_str());
      throw;
    }
    return made;
  }
}

std::shared_ptr<WriteSlots> join_locked_slots(const std::string& name, int count) {
  const int fd = open_descriptor(name, Access::beside);
  try {
    return std::make_shared<LockedSlots>(name, fd, count);
  } catch (...) {
    ::close(fd);
    throw;
  }
}

}  // namespace sheaf
