// storage/posix/locked_slots: WriteSlots among processes. Byte s of the file is locked by the holder of slot
// s. The task that searches for a free slot locks the byte following the last slot. Other tasks wait for that
// lock, in order of arrival.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>

#include "base/assert.hpp"
#include "base/error.hpp"
#include "storage/constants.hpp"
#include "storage/posix/posix_locks.hpp"
#include "storage/posix/posix_open.hpp"
#include "storage/write_slots.hpp"

namespace sheaf {

namespace {

using namespace storage_constants;

class LockedSlots final : public WriteSlots {
 public:
  LockedSlots(std::string name, PosixDescriptor fd, int count)
      : name_(std::move(name)), fd_(std::move(fd)), count_(count) {}

  int take() override {
    std::unique_lock own(mutex_);
    int error = lock(F_OFD_SETLKW, F_WRLCK, count_ == 1 ? 0 : count_);
    if (count_ > 1 && error == 0) {
      error = find_free();
      lock(F_OFD_SETLK, F_UNLCK, count_);
    }
    if (error != 0) throw os_error("cannot lock a write slot in", name_, error);
    own.release();  // until give_back
    return last_;
  }

  void give_back(int slot) noexcept override {
    SHEAF_ASSERT(slot >= 0 && slot < count_);
    lock(F_OFD_SETLK, F_UNLCK, slot);
    mutex_.unlock();
  }

  const std::string& name() const override { return name_; }
  void hide() noexcept override { ::unlink(name_.c_str()); }

 private:
  // Sets a lock of `type` on `byte`, or releases it. Returns 0 or the errno.
  int lock(int command, short type, int byte) const {
    struct flock range = lock_of(type, byte, 1);
    return call_lock(fd_.get(), command, range);
  }

  // Acquires a slot as soon as one is free. Returns 0, or the errno if locking fails although no other task
  // holds the slot.
  int find_free() {
    for (Backoff backoff(slot_backoff);; backoff.wait())
      for (int tries = 0; tries < count_; ++tries) {
        const int error = lock(F_OFD_SETLK, F_WRLCK, last_);
        if (error != EAGAIN && error != EACCES) return error;
        last_ = (last_ + 1) % count_;
      }
  }

  const std::string name_;
  const PosixDescriptor fd_;
  const int count_;
  int last_ = 0;      // the slot acquired last: often free again
  std::mutex mutex_;  // held with the slot: the kernel does not distinguish threads that share a descriptor
};

std::string directory_for_slots() {
  if (::access("/dev/shm", W_OK | X_OK) == 0) return "/dev/shm";
  const char* const set = std::getenv("TMPDIR");
  return set && *set ? set : "/tmp";
}

}  // namespace

std::shared_ptr<WriteSlots> make_locked_slots(int count) {
  SHEAF_ASSERT(count > 0);
  static std::atomic<unsigned> next{0};
  const std::string prefix = directory_for_slots() + "/sheaf-slots." + std::to_string(::getpid()) + ".";
  for (int tries = 0;; ++tries) {
    const std::string name = prefix + std::to_string(next++);
    PosixDescriptor fd(open_at(AT_FDCWD, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    if (fd.get() < 0 && errno == EEXIST && tries < max_slot_names) continue;
    if (fd.get() < 0) throw os_error("cannot create the file for write slots", name, errno);
    try {
      const auto made = std::make_shared<LockedSlots>(name, std::move(fd), count);
      made->give_back(made->take());  // detects now whether files can be locked here
      return made;
    } catch (...) {
      ::unlink(name.c_str());
      throw;
    }
  }
}

std::shared_ptr<WriteSlots> join_locked_slots(const std::string& name, int count) {
  return std::make_shared<LockedSlots>(name, open_descriptor(name, Access::sidecar, by_name(name)), count);
}

}  // namespace sheaf
