// cli/mount/front: EROFS over what FUSE shows. The kernel keeps files of FUSE in pages, those of its own
// read-only file system in larger folios, from which a second look is read twice as fast. So where root
// mounts large streams, a file of the mount that is in no list, an image of it (cli/mount/image), is mounted
// over it; what the kernel has not yet is read through FUSE as ever. Without such a kernel (Linux 6.12) the
// mount is what it is.
//
// The server cannot mount what it serves: a helper, another process, does.
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include <mutex>
#include <string>
#include <string_view>

namespace sheaf::cli {

struct FileSystem;

// Lets the kernel read ahead as much as one request can have from what sysfs(5) calls so in class/bdi, where
// the user may say so (root).
void read_ahead_far(const std::string& device);

class Front {
 public:
  static constexpr fuse_ino_t image_number = fuse_ino_t{1} << 61;  // the tree and live sets have others

  // Whether a second look at the streams would be faster.
  static bool pays(const FileSystem& system);

  explicit Front(std::string directory);  // throws io
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;
  ~Front();

  // Divides this process into who serves and the helper, which ends in here. Throws io.
  void divide(fuse_session* session, bool foreground);
  bool shows(fuse_req_t request, std::string_view name) const;

  // Takes it away, as when the image could not be read: what is below tells which bytes, since nothing larger
  // than a page fails there. Also behind the end of the session, which unmounts one of the two.
  void drop();
  // Nobody uses the image any more: if the front has been unmounted, the session ends.
  void released();

 private:
  [[noreturn]] void help();
  bool take_down();

  const std::string directory_;
  const int is_mounted_;  // eventfd, to which the helper writes
  fuse_session* session_ = nullptr;
  pid_t helper_ = -1;
  std::mutex mutex_;  // guards what follows
  bool is_up_ = false;
};

}  // namespace sheaf::cli
