// cli/mount/front: mounts an EROFS image over the FUSE mount. The kernel caches files of FUSE in single
// pages, but files of EROFS in larger folios, so that repeated reads are twice as fast. When root mounts
// large streams, the FUSE mount contains a hidden file, an image of the tree (cli/mount/image). That file is
// mounted over the FUSE mount, and the kernel reads uncached bytes through FUSE as before. Kernels before
// Linux 6.12 cannot do this; there the FUSE mount is used alone.
//
// A server cannot mount a file that it serves itself, so a helper process does this. Other programs may mount
// and unmount on the directory, too; only mounts of this session are unmounted.
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include <mutex>
#include <string>
#include <string_view>

namespace sheaf::cli {

struct FileSystem;

// Raises the kernel's read-ahead for `device`, a name in class/bdi of sysfs(5), to the maximum size of a
// request. Requires root; has no effect for other users.
void read_ahead_far(const std::string& device);

class Front {
 public:
  static constexpr fuse_ino_t image_number = fuse_ino_t{1} << 61;  // not used by the tree or live sets

  // Returns whether the image would make repeated reads faster.
  static bool pays(const FileSystem& system);

  explicit Front(std::string directory);  // throws `io`
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;
  ~Front();

  // Forks: one process returns and serves the mounted session; the other becomes the helper and ends inside
  // this call. The parent serves if `foreground` is set, else the child. Throws `io`.
  void divide(fuse_session* session, bool foreground);
  // Returns whether the request is the helper's lookup of the image.
  bool shows(fuse_req_t request, std::string_view name);

  // Restores FUSE as the visible mount, for example if the image could not be read. Reads through FUSE then
  // identify the unreadable bytes, because no request larger than a page fails.
  void drop();
  // Called when the image has no users left. If it was mounted, it has been unmounted, and the session ends.
  void released();
  // Called after the end of the session.
  void unmount();

 private:
  [[noreturn]] void help(pid_t server, bool waits);
  bool put_up(pid_t server);
  bool take_down();
  bool is_on_top() const;

  const std::string directory_;
  const int is_mounted_;  // eventfd that the helper writes to
  fuse_session* session_ = nullptr;
  std::string device_;  // of FUSE
  pid_t helper_ = -1;
  std::mutex mutex_;  // guards the following members
  int fuse_ = -1;     // a detached second mount of FUSE, which keeps FUSE alive while it is open
  bool is_up_ = false;
};

}  // namespace sheaf::cli
