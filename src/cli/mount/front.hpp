// cli/mount/front: EROFS instead of what FUSE shows. The kernel keeps files of FUSE in pages, those of its
// own read-only file system in larger folios, from which a second look is read twice as fast. So where root
// mounts large streams, a file of the mount that is in no list, an image of it (cli/mount/image), is mounted
// in its place; what the kernel has not yet is read through FUSE as ever. Without such a kernel (Linux 6.12)
// the mount is what it is.
//
// The server cannot mount what it serves: a helper, another process, does. Others may mount and unmount on
// the directory, too: nothing is unmounted there that is not of this session.
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

  // Divides this process into who serves the session, which is mounted, and the helper, which ends in here.
  // Throws io.
  void divide(fuse_session* session, bool foreground);
  // Whether it is the helper that looks for the image.
  bool shows(fuse_req_t request, std::string_view name);

  // Has FUSE back in its place, as when the image could not be read: what is read there tells which bytes,
  // since nothing larger than a page fails.
  void drop();
  // Nobody uses the image any more: if it has been mounted, it was unmounted, and the session ends.
  void released();
  // Behind the end of the session.
  void unmount();

 private:
  [[noreturn]] void help(pid_t server, bool waits);
  bool put_up(pid_t server);
  bool take_down();
  bool is_on_top() const;

  const std::string directory_;
  const int is_mounted_;  // eventfd, to which the helper writes
  fuse_session* session_ = nullptr;
  std::string device_;  // of FUSE
  pid_t helper_ = -1;
  std::mutex mutex_;  // guards what follows
  int fuse_ = -1;     // another mount of it, which is nowhere: as long as that is there FUSE is
  bool is_up_ = false;
};

}  // namespace sheaf::cli
