#include "storage/posix/posix_beneath.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/error.hpp"
#include "storage/constants.hpp"
#include "storage/posix/beneath.hpp"
#include "storage/posix/posix_file.hpp"
#include "storage/posix/posix_store.hpp"
#include "storage/system/posix_descriptor.hpp"
#include "storage/system/posix_transfer.hpp"
#include "storage/write_slots.hpp"

namespace sheaf {

namespace {

constexpr mode_t usual_mode = 0666;

int by_kernel(int root, const char* path, int flags) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags);
  how.mode = flags & O_CREAT ? usual_mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  int fd = -1;
  for (int i = 0; i < storage_constants::most_beneath_tries; ++i) {
    fd =
        static_cast<int>(uninterrupted([&] { return ::syscall(SYS_openat2, root, path, &how, sizeof how); }));
    if (fd >= 0 || errno != EAGAIN) break;
  }
  return fd;
}

int by_walking(int root, const std::string& path, int flags) {
  const auto enter = [](int directory, const std::string& name) {
    const int fd = uninterrupted(
        [&] { return ::openat(directory, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); });
    if (fd >= 0 || errno != ENOTDIR) return fd;
    // Which the system says of a link to a directory, too.
    struct stat found;
    const bool link =
        ::fstatat(directory, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(found.st_mode);
    errno = link ? ELOOP : ENOTDIR;
    return -1;
  };
  Descriptor at(enter(root, "."));
  size_t begin = 0;
  for (size_t slash; (slash = path.find('/', begin)) != std::string::npos; begin = slash + 1) {
    if (at.get() < 0) return -1;
    if (slash > begin) at = Descriptor(enter(at.get(), path.substr(begin, slash - begin)));
  }
  if (at.get() < 0) return -1;
  const std::string name = begin == path.size() ? "." : path.substr(begin);
  const int fd =
      uninterrupted([&] { return ::openat(at.get(), name.c_str(), flags | O_NOFOLLOW, usual_mode); });
  struct stat found;
  if (fd < 0 || !(flags & O_PATH) || ::fstat(fd, &found) != 0 || !S_ISLNK(found.st_mode)) return fd;
  ::close(fd);
  errno = ELOOP;
  return -1;
}

// The directory, and how names beneath it are found.
struct Root {
  Root(std::string its_name, Resolving resolving, std::shared_ptr<const WorkingDirectory> directory)
      : name(std::move(its_name)), how(resolving), base(std::move(directory)) {}

  const std::string name;
  const Resolving how;
  const std::shared_ptr<const WorkingDirectory> base;  // that `name` counts from

  std::string full(const std::string& below) const { return name + "/" + below; }

  // A descriptor; negative with errno. Throws permission for a name that leads out.
  int resolve(const std::string& below, int flags, std::string_view doing) const {
    const Descriptor root(uninterrupted(
        [&] { return ::openat(base_of(base.get()), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC); }));
    if (root.get() < 0) return -1;
    const int fd = resolve(root.get(), below, flags);
    if (fd >= 0 || (errno != EXDEV && (errno != ELOOP || flags & O_NOFOLLOW))) return fd;
    throw Error(Code::permission,
                std::string(doing) + " '" + full(below) + "': a symbolic link leads out of '" + name +
                    "', or cannot be followed there",
                EACCES);
  }

  bool status(const std::string& below, struct stat& found) const {
    const Descriptor at(resolve(below, O_PATH | O_CLOEXEC, "cannot get the status of"));
    return at.get() >= 0 && ::fstat(at.get(), &found) == 0;
  }

 private:
  int resolve(int root, const std::string& below, int flags) const {
    if (how == Resolving::kernel) {
      const int fd = by_kernel(root, below.c_str(), flags);
      // Sandboxes that do not know the call answer EPERM.
      if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return fd;
    }
    return by_walking(root, below, flags);
  }
};

class BeneathStore final : public Store {
 public:
  BeneathStore(std::string root, Resolving how, std::shared_ptr<const WorkingDirectory> base)
      : root_(std::make_shared<const Root>(std::move(root), how, std::move(base))) {}

  std::shared_ptr<File> open(const std::string& path, Access access) override {
    const std::string below = path_beneath(root_->name, path);
    const Opening how{[root = root_, below](int flags) { return root->resolve(below, flags, "cannot open"); },
                      [root = root_, below](struct stat& found) { return root->status(below, found); }};
    return std::make_shared<PosixFile>(root_->full(below), access, root_->base, how);
  }

  FileStatus status(const std::string& path) override {
    const std::string below = path_beneath(root_->name, path);
    struct stat found;
    if (root_->status(below, found)) return status_of(found);
    if (errno == ENOENT || errno == ENOTDIR) return {};
    throw os_error("cannot get the status of", root_->full(below), errno);
  }

  void remove(const std::string& path) override {
    const Entry entry = find(path, "cannot remove");
    if (::unlinkat(entry.directory.get(), entry.name.c_str(), 0) != 0)
      throw os_error("cannot remove", root_->full(entry.below), errno);
  }

  void rename(const std::string& from, const std::string& to) override {
    const Entry old = find(from, "cannot rename");
    const Entry now = find(to, "cannot rename to");
    if (::renameat(old.directory.get(), old.name.c_str(), now.directory.get(), now.name.c_str()) != 0)
      throw os_error("cannot rename to '" + root_->full(now.below) + "' the file", root_->full(old.below),
                     errno);
  }

  std::shared_ptr<WriteSlots> make_slots(int count) override { return posix_store().make_slots(count); }
  std::shared_ptr<WriteSlots> join_slots(const std::string& name, int count) override {
    return posix_store().join_slots(name, count);
  }
  std::string place_of(const std::string& path) override {
    return PosixStore(root_->base).place_of(root_->full(path_beneath(root_->name, path)));
  }
  FileSystemTraits traits(const std::string& path) override {
    const std::string below = path_beneath(root_->name, path);
    const size_t slash = below.rfind('/');
    int fd = root_->resolve(below, O_PATH | O_CLOEXEC, "cannot find the file system of");
    if (fd < 0 && errno == ENOENT)
      fd = root_->resolve(slash == std::string::npos ? "." : below.substr(0, slash), O_PATH | O_CLOEXEC,
                          "cannot find the file system of");
    if (fd < 0) throw os_error("cannot find the file system of", root_->full(below), errno);
    const Descriptor found(fd);
    return traits_of_descriptor(found.get());
  }
  // Its path() begins outside.
  FileSystemTraits traits_of(File& file) override { return PosixStore(root_->base).traits_of(file); }
  void sync_name(const std::string& path) override {
    sync_directory_of(root_->full(path_beneath(root_->name, path)), root_->base.get());
  }

 private:
  // A name and the directory that it is in.
  struct Entry {
    std::string below;
    Descriptor directory;
    std::string name;
  };

  Entry find(const std::string& path, const char* doing) const {
    const std::string below = path_beneath(root_->name, path);
    const size_t slash = below.rfind('/');
    const std::string parent = slash == std::string::npos ? "." : below.substr(0, slash);
    const int fd = root_->resolve(parent, O_PATH | O_DIRECTORY | O_CLOEXEC, doing);
    if (fd < 0) throw os_error(doing, root_->full(below), errno);
    return {below, Descriptor(fd), slash == std::string::npos ? below : below.substr(slash + 1)};
  }

  std::shared_ptr<const Root> root_;  // of files too
};

}  // namespace

std::shared_ptr<Store> posix_store_beneath(std::string root, Resolving how,
                                           std::shared_ptr<const WorkingDirectory> base) {
  return std::make_shared<BeneathStore>(std::move(root), how, std::move(base));
}

std::shared_ptr<Store> PosixStore::beneath(std::string root) {
  return posix_store_beneath(std::move(root), Resolving::kernel,
                             directory_ ? directory_ : WorkingDirectory::now());
}

}  // namespace sheaf
