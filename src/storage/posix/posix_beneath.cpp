#include "storage/posix/posix_beneath.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "storage/constants.hpp"
#include "storage/posix/beneath.hpp"
#include "storage/posix/posix_file.hpp"
#include "storage/posix/posix_store.hpp"
#include "storage/system/posix_descriptor.hpp"
#include "storage/write_slots.hpp"

namespace sheaf {

namespace {

int by_kernel(int root, const char* path, int flags) {
  open_how how{.flags = static_cast<uint64_t>(flags),
               .mode = flags & O_CREAT ? 0666u : 0u,
               .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
  int fd = -1;
  for (int i = 0; i < storage_constants::max_beneath_tries; ++i) {
    fd =
        static_cast<int>(uninterrupted([&] { return ::syscall(SYS_openat2, root, path, &how, sizeof how); }));
    if (fd >= 0 || errno != EAGAIN) break;
  }
  return fd;
}

// Opens a subdirectory; refuses a link in its place. "." is the directory itself.
PosixDescriptor enter(int directory, const std::string& name) {
  PosixDescriptor entered(open_at(directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW));
  if (entered.get() >= 0 || errno != ENOTDIR) return entered;
  // The system also reports ENOTDIR for a link to a directory.
  struct stat found;
  const bool link =
      ::fstatat(directory, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(found.st_mode);
  errno = link ? ELOOP : ENOTDIR;
  return entered;
}

int by_walking(int root, const std::string& path, int flags) {
  PosixDescriptor at = enter(root, ".");
  size_t begin = 0;
  for (size_t slash; (slash = path.find('/', begin)) != std::string::npos; begin = slash + 1) {
    if (at.get() < 0) return -1;
    if (slash > begin) at = enter(at.get(), path.substr(begin, slash - begin));
  }
  if (at.get() < 0) return -1;
  const std::string name = begin == path.size() ? "." : path.substr(begin);
  PosixDescriptor found(open_at(at.get(), name, flags | O_NOFOLLOW));
  struct stat status;
  if (found.get() < 0 || !(flags & O_PATH) || ::fstat(found.get(), &status) != 0 || !S_ISLNK(status.st_mode))
    return found.release();
  errno = ELOOP;
  return -1;
}

// Open files keep their store alive.
class BeneathStore final : public Store, public std::enable_shared_from_this<BeneathStore> {
 public:
  BeneathStore(std::string root, Resolving how, std::shared_ptr<const WorkingDirectory> base)
      : root_(std::move(root)), how_(how), base_(std::move(base)), outside_(posix_store_in(base_)) {}

  std::shared_ptr<File> open(const std::string& path, Access access) override {
    const std::string below = path_beneath(root_, path);
    return std::make_shared<PosixFile>(
        full(below), access,
        [self = shared_from_this(), below](int flags) { return self->resolve(below, flags, "cannot open"); },
        base_);
  }

  FileStatus status(const std::string& path) override {
    const std::string below = path_beneath(root_, path);
    const PosixDescriptor at(resolve(below, O_PATH | O_CLOEXEC, "cannot get the status of"));
    struct stat found;
    if (at.get() >= 0 && ::fstat(at.get(), &found) == 0) return status_of(found);
    if (errno == ENOENT || errno == ENOTDIR) return {};
    throw os_error("cannot get the status of", full(below), errno);
  }

  void remove(const std::string& path) override {
    const DirectoryEntry entry = find(path, "cannot remove");
    if (::unlinkat(entry.directory.get(), entry.name.c_str(), 0) != 0)
      throw os_error("cannot remove", full(entry.below), errno);
  }

  void rename(const std::string& from, const std::string& to) override {
    const DirectoryEntry old = find(from, "cannot rename");
    const DirectoryEntry now = find(to, "cannot rename to");
    if (::renameat(old.directory.get(), old.name.c_str(), now.directory.get(), now.name.c_str()) != 0)
      throw os_error("cannot rename to '" + full(now.below) + "' the file", full(old.below), errno);
  }

  std::shared_ptr<WriteSlots> make_slots(int count) override { return outside_->make_slots(count); }
  std::shared_ptr<WriteSlots> join_slots(const std::string& name, int count) override {
    return outside_->join_slots(name, count);
  }
  std::string place_of(const std::string& path) override {
    return outside_->place_of(full(path_beneath(root_, path)));
  }
  FileSystemTraits traits(const std::string& path) override {
    const std::string below = path_beneath(root_, path);
    return traits_of_path(below, full(below), [&](const std::string& name) {
      return resolve(name, O_PATH | O_CLOEXEC, "cannot find the file system of");
    });
  }
  // The path() of a file includes the root, so the outer store resolves it.
  FileSystemTraits traits_of(File& file) override { return outside_->traits_of(file); }
  void sync_name(const std::string& path) override { outside_->sync_name(full(path_beneath(root_, path))); }

 private:
  // A name and the directory that contains it.
  struct DirectoryEntry {
    std::string below;
    PosixDescriptor directory;
    std::string name;
  };

  DirectoryEntry find(const std::string& path, const char* doing) const {
    const std::string below = path_beneath(root_, path);
    const size_t slash = below.rfind('/');
    const std::string parent = slash == std::string::npos ? "." : below.substr(0, slash);
    PosixDescriptor directory(resolve(parent, O_PATH | O_DIRECTORY | O_CLOEXEC, doing));
    if (directory.get() < 0) throw os_error(doing, full(below), errno);
    return {below, std::move(directory), below.substr(slash + 1)};
  }

  std::string full(const std::string& below) const { return root_ + "/" + below; }

  // Returns a descriptor; negative with errno. Throws permission for a name that leads out of the root.
  int resolve(const std::string& below, int flags, std::string_view doing) const {
    const PosixDescriptor root(open_at(base_of(base_.get()), root_, O_PATH | O_DIRECTORY));
    if (root.get() < 0) return -1;
    int fd = how_ == Resolving::kernel ? by_kernel(root.get(), below.c_str(), flags) : -1;
    // Sandboxes that do not know openat2 return EPERM.
    if (how_ == Resolving::walk || (fd < 0 && (errno == ENOSYS || errno == EPERM)))
      fd = by_walking(root.get(), below, flags);
    if (fd >= 0 || (errno != EXDEV && (errno != ELOOP || flags & O_NOFOLLOW))) return fd;
    throw Error(Code::permission,
                std::string(doing) + " '" + full(below) + "': a symbolic link leads out of '" + root_ +
                    "', or cannot be followed there",
                EACCES);
  }

  const std::string root_;
  const Resolving how_;
  const std::shared_ptr<const WorkingDirectory> base_;  // base directory of `root_`
  const std::shared_ptr<Store> outside_;                // its names count from `base_`, too
};

}  // namespace

std::shared_ptr<Store> posix_store_beneath(std::string root, Resolving how,
                                           std::shared_ptr<const WorkingDirectory> base) {
  return std::make_shared<BeneathStore>(std::move(root), how, std::move(base));
}

}  // namespace sheaf
