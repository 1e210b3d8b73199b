// cli/mount/front: mounts an EROFS image over the FUSE mount. The kernel caches files of FUSE in single
// pages, but files of EROFS in larger folios, so that repeated reads are twice as fast. When root mounts
// large streams, the FUSE mount contains a hidden file, an EROFS image of the tree (cli/mount/image). A
// helper process mounts this image over the FUSE mount. The kernel then reads uncached bytes of the image
// through FUSE. Kernels before Linux 6.12 cannot mount such an image; programs then use the FUSE mount.
//
// The server cannot mount a file that it serves itself, because it must answer requests during the mount.
// Other programs may mount and unmount on the directory, too. This class unmounts only the mounts of its own
// session.
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include <mutex>
#include <string>
#include <string_view>

#include "base/non_copyable.hpp"

namespace sheaf::cli {

struct MountedFileSystem;

// Raises the kernel's read-ahead for `device`, a name in class/bdi of sysfs(5), to the maximum size of a
// request. Requires root; has no effect for other users.
void read_ahead_far(const std::string& device);

class Front : private NonCopyable {
 public:
  static constexpr fuse_ino_t image_number = fuse_ino_t{1} << 61;  // not used by the tree or live sets

  // Returns whether the image can be mounted and would make repeated reads faster.
  static bool pays(const MountedFileSystem& system);

  explicit Front(std::string directory);  // throws `io`
  ~Front();

  // Forks. One process returns and must serve the mounted session; the other one becomes the helper and ends
  // in this call. With `foreground`, the parent returns, else the child. Throws `io`.
  void divide(fuse_session* session, bool foreground);
  // Returns whether the request is the lookup of the image by the helper. All other lookups must not find the
  // image.
  bool shows(fuse_req_t request, std::string_view name);

  // Replaces the image by the FUSE mount. Called if a read of the image has failed: a failed read of a folio
  // hides all of its bytes, whereas through FUSE only the unreadable pages fail.
  void drop();
  // Must be called when no process has the image open any more. If the image was mounted, it has been
  // unmounted, so this function ends the session.
  void released();
  // Unmounts FUSE if it is still the top mount on the directory. Must be called after the end of the session.
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
  int fuse_ = -1;     // descriptor of a detached second mount of FUSE, which keeps FUSE alive; -1: none
  bool is_up_ = false;
};

}  // namespace sheaf::cli
