// tmpfs: in-memory file systems for tests.
#pragma once

#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace sheaf::test {

// Returns whether /dev/shm is a tmpfs writable by this process.
inline bool has_tmpfs() {
  struct statfs found;
  return ::statfs("/dev/shm", &found) == 0 && found.f_type == TMPFS_MAGIC && ::access("/dev/shm", W_OK) == 0;
}

// Mounts a tmpfs of the given size ("12m") in a directory of its own, and unmounts it in the destructor. The
// object is unavailable if the process may not mount.
class SmallTmpfs {
 public:
  SmallTmpfs(std::string directory, const std::string& size) : directory_(std::move(directory)) {
    is_made_ = ::mkdir(directory_.c_str(), 0700) == 0;
    is_mounted_ =
        is_made_ && ::mount("sheaf-test", directory_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  SmallTmpfs(const SmallTmpfs&) = delete;
  SmallTmpfs& operator=(const SmallTmpfs&) = delete;
  ~SmallTmpfs() {
    if (is_mounted_) ::umount2(directory_.c_str(), MNT_DETACH);
    if (is_made_) ::rmdir(directory_.c_str());
  }
  explicit operator bool() const { return is_mounted_; }
  std::string file() const { return directory_ + "/file"; }

 private:
  const std::string directory_;
  bool is_made_ = false;
  bool is_mounted_ = false;
};

}  // namespace sheaf::test
