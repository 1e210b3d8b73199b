#include "cli/mount/front.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "cli/mount/file_system.hpp"
#include "cli/mount/front_place.hpp"

namespace sheaf::cli {

namespace {

// Minimum mean size of streams, in bytes, for which an image is mounted. For smaller streams, folios are
// hardly larger than pages.
constexpr int64_t large_stream = 128 << 10;

// System calls since Linux 5.2 that older C libraries lack. Numbers and flags are the same on all
// architectures.
constexpr long sys_open_tree = 428, sys_move_mount = 429, sys_fsopen = 430, sys_fsconfig = 431,
               sys_fsmount = 432;
constexpr unsigned set_flag = 0, set_string = 1, create = 6;   // FSCONFIG_
constexpr unsigned close_on_exec = 1, attributes = 1 | 2 | 4;  // FSMOUNT_; MOUNT_ATTR_: ro, nosuid, nodev
constexpr unsigned clone_and_close_on_exec = 1 | O_CLOEXEC;    // OPEN_TREE_
constexpr unsigned from_descriptor = 4, beneath = 0x200;  // MOVE_MOUNT_F_EMPTY_PATH, MOVE_MOUNT_BENEATH (6.5)

// Replaces the top mount on the directory by `mount`. If the kernel can, mounts beneath the old mount before
// it removes that one, so that the directory always has a mount. Returns false with errno on failure; the
// directory may then have no mount.
bool replace_on(const std::string& directory, int mount) {
  const auto attach = [&](unsigned how) {
    return syscall(sys_move_mount, mount, "", AT_FDCWD, directory.c_str(), from_descriptor | how) == 0;
  };
  const bool is_beneath = attach(beneath);
  return umount2(directory.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0 && (is_beneath || attach(0));
}

// Creates a detached EROFS mount of the image file. Returns its descriptor, or a negative value on failure.
// Disables access control lists, because each lookup of one would compute all extended attributes of a file.
int mount_of_image(const std::string& image) {
  const auto system = static_cast<int>(syscall(sys_fsopen, "erofs", close_on_exec));
  if (system < 0) return -1;
  int mounted = -1;
  if (syscall(sys_fsconfig, system, set_string, "source", image.c_str(), 0) == 0 &&
      syscall(sys_fsconfig, system, set_flag, "ro", nullptr, 0) == 0 &&
      syscall(sys_fsconfig, system, set_flag, "noacl", nullptr, 0) == 0 &&
      syscall(sys_fsconfig, system, create, nullptr, nullptr, 0) == 0)
    mounted = static_cast<int>(syscall(sys_fsmount, system, close_on_exec, attributes));
  close(system);
  return mounted;
}

constexpr std::string_view no_image = ".sheaf.no-image";  // looked up by a helper that failed to mount

constexpr std::string_view devices = "/sys/class/bdi";

// Returns the device name of the newest EROFS mount. The kernel numbers these mounts but does not report the
// number of a mount. If another process mounts an EROFS image at the same time, the result may be its device,
// which then gets the larger read-ahead. This is harmless.
std::string newest_device() {
  constexpr std::string_view begin = "erofs-";
  uint64_t most = 0;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(devices, none)) {
    const std::string name = entry.path().filename();
    uint64_t number = 0;
    if (name.starts_with(begin)) std::from_chars(&name[begin.size()], name.data() + name.size(), number);
    most = std::max(most, number);
  }
  return std::string(begin) + std::to_string(most);
}

// Detaches from the terminal as fuse_daemonize() does. That function cannot be used, because it ends the
// first process, which must become the helper.
void leave_terminal() {
  setsid();
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, fd);
  close(null);
}

}  // namespace

void read_ahead_far(const std::string& device) {
  std::ofstream(std::string(devices) + "/" + device + "/read_ahead_kb") << 1024;
}

bool Front::pays(const MountedFileSystem& system) {
  return geteuid() == 0 && !system.live && system.tree.knows_sizes() &&
         system.tree.bytes() / large_stream >= system.tree.files();
}

Front::Front(std::string directory)
    : directory_(std::move(directory)), is_mounted_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (is_mounted_ < 0) throw os_error("cannot prepare to mount on", directory_, errno);
}

Front::~Front() {
  close(is_mounted_);
  if (fuse_ >= 0) close(fuse_);
}

void Front::divide(fuse_session* session, bool foreground) {
  session_ = session;
  if (const auto mounted = mounted_on(directory_)) device_ = mounted->device;
  fuse_ = static_cast<int>(syscall(sys_open_tree, AT_FDCWD, directory_.c_str(), clone_and_close_on_exec));
  if (foreground) std::signal(SIGCHLD, SIG_IGN);  // keeps the ended helper from becoming a zombie
  const pid_t first = getpid();
  const pid_t child = fork();
  if (child < 0) throw os_error("cannot serve in the background", directory_, errno);
  if (foreground == (child == 0)) help(foreground ? first : child, !foreground);
  helper_ = foreground ? child : first;
  if (!foreground) leave_terminal();
}

// Runs the helper process: mounts the image and ends. First closes the helper's copy of the session
// descriptor, which would keep the session alive after the server has ended.
void Front::help(pid_t server, bool waits) {
  close(fuse_session_fd(session_));
  bool failed = !put_up(server);
  if (failed)
    std::fprintf(stderr, "sheaf: cannot mount on '%s': %s\n", printable(directory_).c_str(),
                 std::strerror(errno));
  if (waits && waitpid(server, nullptr, WNOHANG) == server) {
    failed = true;
    std::fprintf(stderr, "sheaf: the program that was to serve '%s' has ended\n",
                 printable(directory_).c_str());
  }
  _exit(failed ? 1 : 0);
}

// Mounts the image over FUSE. Returns true if FUSE stays usable, even if the image cannot be mounted. Returns
// false with errno if the directory has no mount any more; the server then ends.
bool Front::put_up(pid_t server) {
  const int front = fuse_ < 0 ? -1 : mount_of_image(directory_ + image_of(server));
  if (front < 0 || !is_on_top()) {
    faccessat(fuse_, no_image.data(), F_OK, 0);
    return true;
  }
  eventfd_write(is_mounted_, 1);
  if (!replace_on(directory_, front)) return false;
  read_ahead_far(newest_device());
  return true;
}

bool Front::shows(fuse_req_t request, std::string_view name) {
  if (fuse_req_ctx(request)->pid != helper_) return false;
  const std::lock_guard lock(mutex_);
  if (name == no_image && fuse_ >= 0) close(std::exchange(fuse_, -1));
  return name == image_of(getpid()).substr(1);
}

// Returns whether the top mount on the directory belongs to this session.
bool Front::is_on_top() const {
  const auto mounted = mounted_on(directory_);
  return mounted && (mounted->device == device_ || is_front_of(*mounted, getpid()));
}

// Returns whether the image is mounted, and marks it as not mounted, so that only one caller gets true.
bool Front::take_down() {
  const std::lock_guard lock(mutex_);
  eventfd_t mounted = 0;
  if (eventfd_read(is_mounted_, &mounted) == 0) is_up_ = true;
  return std::exchange(is_up_, false);
}

void Front::drop() {
  if (!is_on_top() || !take_down()) return;
  replace_on(directory_, fuse_);
  close(std::exchange(fuse_, -1));  // an open descriptor would prevent unmounting
}

void Front::released() {
  if (take_down()) fuse_session_exit(session_);
}

void Front::unmount() {
  if (is_on_top()) fuse_session_unmount(session_);
}

}  // namespace sheaf::cli
