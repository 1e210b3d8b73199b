// storage/filesystem/traits: determines the traits of a file's file system from the system.
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/setting.hpp"
#include "storage/filesystem/traits.hpp"
#include "storage/system/posix_attribute.hpp"
#include "storage/system/posix_descriptor.hpp"

namespace sheaf {

namespace {

constexpr int max_overlays = 3;  // stacked overlays

// Time for which the mounts are cached. Reading them takes 0.1 ms, and several ms with thousands of mounted
// containers, so one result serves a burst of opens. Device numbers are reused, so the time is short.
constexpr std::chrono::seconds kept_for{5};

// Returns true unless the kind of file system alone determines the traits.
bool needs_mount(FileSystem kind) {
  switch (kind) {
    case FileSystem::ext4:
    case FileSystem::xfs:
    case FileSystem::btrfs:
    case FileSystem::f2fs:
    case FileSystem::zfs:
    case FileSystem::bcachefs:
    case FileSystem::tmpfs:
    case FileSystem::ramfs:
    case FileSystem::gpfs:
    case FileSystem::ceph:
      return false;
    default:
      return true;
  }
}

std::optional<Mount> kept_mount_of(int fd, dev_t device, int64_t magic) {
  using Clock = std::chrono::steady_clock;
  struct CachedMount {
    Clock::time_point read;
    std::optional<Mount> mount;
  };
  static std::mutex mutex;
  static auto* const all =
      new std::map<std::pair<dev_t, int64_t>, CachedMount>;  // needed until the process ends
  const auto now = Clock::now();
  const std::pair key{device, magic};
  {
    const std::scoped_lock lock(mutex);
    const auto found = all->find(key);
    if (found != all->end() && now - found->second.read < kept_for) return found->second.mount;
  }
  auto mount = mount_of_descriptor(fd);
  const std::scoped_lock lock(mutex);
  std::erase_if(*all, [&](const auto& kept) { return now - kept.second.read >= kept_for; });
  (*all)[key] = {now, mount};
  return mount;
}

// Returns the configuration of the running client if there is exactly one, otherwise its start-up file. Mount
// options override it.
std::string beegfs_config(const Mount& mount) {
  std::string text;
  glob_t found{};
  if (::glob("/proc/fs/beegfs/*/config", 0, nullptr, &found) == 0 && found.gl_pathc == 1)
    text = contents_of(found.gl_pathv[0]);
  ::globfree(&found);
  if (text.empty()) text = contents_of(mount.option("cfgFile").value_or("/etc/beegfs/beegfs-client.conf"));
  for (const char* key : {"tuneFileCacheType", "tuneUseGlobalFileLocks"})
    if (const auto value = mount.option(key)) text += "\n" + std::string(key) + "=" + *value;
  return text;
}

void apply_layout(FileSystemTraits& traits, int fd, const std::optional<Mount>& mount) {
  // O_PATH descriptors give no access to attributes.
  const std::string attributed = "/proc/self/fd/" + std::to_string(fd);
  if (traits.kind == FileSystem::lustre) {
    const std::string layout = attribute_of(attributed, "lustre.lov").value_or("");
    apply_lustre_layout(traits, std::as_bytes(std::span(layout)));
  } else if (is_ceph(traits.kind)) {
    if (!apply_ceph_layout(traits, attribute_of(attributed, "ceph.file.layout").value_or("")))
      apply_ceph_layout(traits, attribute_of(attributed, "ceph.dir.layout").value_or(""));
  } else if (traits.kind == FileSystem::beegfs && mount) {
    apply_beegfs_config(traits, beegfs_config(*mount));
  }
}

// Writable files of an overlay are in its upper directory. Inside containers that directory is invisible; it
// must then be on a local file system, since cluster file systems cannot hold an upper directory.
FileSystemTraits found_traits(int fd, int depth) {
  struct statfs system {};
  struct stat file {};
  const bool known = uninterrupted([&] { return ::fstatfs(fd, &system); }) == 0 && ::fstat(fd, &file) == 0;
  if (!known) return {};
  const auto magic = static_cast<int64_t>(system.f_type);
  const auto mount = needs_mount(kind_of_magic(magic)) ? kept_mount_of(fd, file.st_dev, magic) : std::nullopt;
  FileSystemTraits traits = traits_of_kind(kind_of(magic, mount), mount, file.st_blksize);
  apply_layout(traits, fd, mount);
  if (traits.kind != FileSystem::overlayfs || !mount || depth >= max_overlays) return traits;
  const auto upper = mount->option("upperdir");
  const PosixDescriptor directory(upper ? open_at(AT_FDCWD, *upper, O_PATH | O_DIRECTORY) : -1);
  if (directory.get() < 0) return traits;
  FileSystemTraits below = found_traits(directory.get(), depth + 1);
  if (below.kind == FileSystem::unknown) return traits;
  below.kind = FileSystem::overlayfs;
  return below;
}

// Returns the directory of a file that does not exist, or of a link in its place.
std::string directory_of(const std::string& path) {
  const size_t end = path.find_last_not_of('/');
  const size_t slash = end == std::string::npos ? end : path.rfind('/', end);
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

FileSystem kind_of_descriptor(int fd) {
  struct statfs found;
  if (uninterrupted([&] { return ::fstatfs(fd, &found); }) != 0) return FileSystem::unknown;
  return kind_of_magic(static_cast<int64_t>(found.f_type));
}

bool may_be_shared_by_hosts(const char* path) noexcept {
  struct statfs found;
  if (uninterrupted([&] { return ::statfs(path, &found); }) != 0) return true;
  const FileSystem kind = kind_of_magic(static_cast<int64_t>(found.f_type));
  return !traits_of_kind(kind, std::nullopt, 0).is_local();
}

FileSystemTraits traits_of_descriptor(int fd) {
  FileSystemTraits traits = found_traits(fd, 0);
  if (const char* const words = setting("SHEAF_FS")) {
    std::string unknown;
    apply_words(traits, words, &unknown);
    if (!unknown.empty()) tell_not_understood("SHEAF_FS", unknown, known_traits_words());
  }
  return traits;
}

FileSystemTraits traits_of_path(const std::string& path, const std::string& shown,
                                const std::function<int(const std::string& name)>& open) {
  int fd = open(path);
  if (fd < 0 && errno == ENOENT && !path.empty()) fd = open(directory_of(path));
  if (fd < 0) throw os_error("cannot find the file system of", shown, errno);
  const PosixDescriptor found(fd);
  return traits_of_descriptor(found.get());
}

}  // namespace sheaf
