#include "cli/mount/front.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/error.hpp"
#include "cli/mount/file_system.hpp"
#include "cli/mount/front_place.hpp"

namespace sheaf::cli {

namespace {

constexpr int64_t large_stream =
    128 << 10;  // bytes, the mean: of what is less, folios are hardly larger than pages

constexpr std::string_view devices = "/sys/class/bdi";

// What the kernel calls the mount of EROFS that was made last: it numbers them, and no mount tells its
// number.
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

// As daemons do.
void leave_terminal() {
  setsid();
  if (const int null = open("/dev/null", O_RDWR); null >= 0) {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, fd);
    if (null > STDERR_FILENO) close(null);
  }
}

}  // namespace

void read_ahead_far(const std::string& device) {
  std::ofstream(std::string(devices) + "/" + device + "/read_ahead_kb") << 1024;
}

bool Front::pays(const FileSystem& system) {
  return geteuid() == 0 && !system.live && system.tree.bytes() / large_stream >= system.tree.files();
}

Front::Front(std::string directory)
    : directory_(std::move(directory)), is_mounted_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (is_mounted_ < 0) throw os_error("cannot prepare to mount on", directory_, errno);
}

Front::~Front() { close(is_mounted_); }

void Front::divide(fuse_session* session, bool foreground) {
  session_ = session;
  const pid_t first = getpid();
  if (foreground) std::signal(SIGCHLD, SIG_IGN);  // nobody waits for the helper
  const pid_t child = fork();
  if (child < 0) throw os_error("cannot serve in the background", directory_, errno);
  if (foreground == (child == 0)) help();
  helper_ = foreground ? child : first;
  if (!foreground) leave_terminal();
}

// Does not keep the session open if the server ends meanwhile.
void Front::help() {
  close(fuse_session_fd(session_));
  const std::string image = directory_ + "/" + std::string(image_name);
  if (::mount(image.c_str(), directory_.c_str(), "erofs", MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr) == 0) {
    eventfd_write(is_mounted_, 1);
    read_ahead_far(newest_device());
  }
  _exit(0);
}

bool Front::shows(fuse_req_t request, std::string_view name) const {
  return name == image_name && fuse_req_ctx(request)->pid == helper_;
}

// Whether it was up; one caller alone learns that.
bool Front::take_down() {
  const std::lock_guard lock(mutex_);
  eventfd_t mounted = 0;
  if (eventfd_read(is_mounted_, &mounted) == 0) is_up_ = true;
  return std::exchange(is_up_, false);
}

void Front::drop() {
  if (take_down()) umount2(directory_.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
}

void Front::released() {
  if (take_down()) fuse_session_exit(session_);
}

}  // namespace sheaf::cli
