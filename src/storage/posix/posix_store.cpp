// storage/posix/posix_store: the system calls on paths.
#include "storage/posix/posix_store.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>

#include "base/error.hpp"
#include "base/os/backoff.hpp"
#include "storage/constants.hpp"
#include "storage/posix/file_attributes.hpp"
#include "storage/posix/gluster_placement.hpp"
#include "storage/posix/lustre_layout.hpp"
#include "storage/posix/posix_beneath.hpp"
#include "storage/posix/posix_file.hpp"
#include "storage/system/posix_descriptor.hpp"
#include "storage/write_slots.hpp"

namespace sheaf {

namespace {

using namespace storage_constants;

// Returns the target of the link `path`; empty if it is not a link. Throws permission if the system does not
// let this process follow the link: other users can plant links in directories like /tmp.
std::string link_text(const std::string& path, int base) {
  char text[PATH_MAX];
  const ssize_t length = ::readlinkat(base, path.c_str(), text, sizeof text);
  struct stat found;
  if (length > 0 && ::fstatat(base, path.c_str(), &found, 0) != 0 && errno == EACCES)
    throw os_error("cannot follow the link", path, EACCES);
  return {text, static_cast<size_t>(std::max<ssize_t>(0, length))};
}

// Repeats a call that fails with ESTALE. After another host has removed or replaced a name, the next call of
// a host that has cached the name fails in this way; the call after that sees the current state.
template <class Call>
auto while_stale(Call call) {
  Backoff backoff(stale_backoff);
  for (int tries = 1;; ++tries, backoff.wait()) {
    try {
      return call();
    } catch (const Error& e) {
      if (e.errno_value() != ESTALE || tries == max_stale_calls) throw;
    }
  }
}

class PosixStore final : public Store {
 public:
  explicit PosixStore(std::shared_ptr<const WorkingDirectory> directory) : directory_(std::move(directory)) {}

  std::shared_ptr<File> open(const std::string& path, Access access) override {
    return while_stale(
        [&] { return std::make_shared<PosixFile>(path, access, by_name(path, directory_), directory_); });
  }

  // Does not report errors; the following open does.
  bool make_in_stripes(const std::string& path, const Striping& wanted) override {
    if (while_stale([&] { return traits(path); }).kind != FileSystem::lustre) return false;
    const PosixDescriptor made(open_at(base(), path, O_RDWR | O_CREAT | O_EXCL | lustre_layout_follows));
    if (made.get() < 0) return false;
    set_lustre_layout(made.get(), wanted);
    return true;
  }

  FileStatus status(const std::string& path) override {
    return while_stale([&] {
      struct stat found;
      if (::fstatat(base(), path.c_str(), &found, 0) == 0) return status_of(found);
      if (errno == ENOENT || errno == ENOTDIR) return FileStatus{};
      throw os_error("cannot get the status of", path, errno);
    });
  }

  void remove(const std::string& path) override {
    if (::unlinkat(base(), path.c_str(), 0) != 0) throw os_error("cannot remove", path, errno);
  }

  void rename(const std::string& from, const std::string& to) override {
    if (::renameat(base(), from.c_str(), base(), to.c_str()) != 0)
      throw os_error("cannot rename to '" + to + "' the file", from, errno);
  }

  std::vector<std::string> names_in(const std::string& directory) override {
    const std::string path = directory.empty() ? "." : directory;
    PosixDescriptor opened(open_at(base(), path, O_RDONLY | O_DIRECTORY));
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(opened.get() < 0 ? nullptr : ::fdopendir(opened.get()),
                                                     ::closedir);
    if (!stream) throw os_error("cannot open directory", path, errno);
    opened.release();  // now owned by the stream
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* const entry = ::readdir(stream.get())) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
      errno = 0;
    }
    if (errno != 0) throw os_error("cannot read directory", path, errno);
    std::ranges::sort(names);
    return names;
  }

  std::shared_ptr<WriteSlots> make_slots(int count) override { return make_locked_slots(count); }
  std::shared_ptr<WriteSlots> join_slots(const std::string& name, int count) override {
    return join_locked_slots(name, count);
  }

  std::string place_of(const std::string& path) override {
    return directory_ && !path.starts_with('/') ? directory_->identity + "/" + path : path;
  }

  std::string target_of(const std::string& path) override {
    std::string target = path;
    for (int links = 0; links <= max_links; ++links) {
      const std::string text = link_text(target, base());
      if (text.empty()) return target;
      target = text.starts_with('/') ? text : target.substr(0, target.rfind('/') + 1) + text;
    }
    throw os_error("cannot follow the links of", path, ELOOP);
  }

  // Does not follow a link at `path`, because another user may have replaced the new file by a link.
  void copy_attributes(const std::string& path, const std::string& like, ReplaceState state) override {
    const PosixDescriptor from(open_at(base(), like, O_PATH));
    const PosixDescriptor to(open_at(base(), path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
    struct stat found;
    if (from.get() < 0 || to.get() < 0 || ::fstat(to.get(), &found) != 0 || !S_ISREG(found.st_mode) ||
        found.st_nlink != 1)
      return;
    if (state == ReplaceState::begun) {
      ::fchmod(to.get(), S_IRUSR | S_IWUSR);
    } else {
      copy_file_attributes(from.get(), to.get());
    }
  }

  FileSystemTraits traits_of(File& file) override {
    const FileDescriptor own = file.descriptor(DescriptorKind::file);
    return own.number < 0 ? traits(file.path()) : traits_of_descriptor(own.number);
  }
  FileSystemTraits traits(const std::string& path) override {
    return traits_of_path(path, path, [&](const std::string& name) { return open_at(base(), name, O_PATH); });
  }
  FilePlacement placement_of(File& file, FileSystem kind) override {
    return kind == FileSystem::glusterfs ? gluster_placement(file.descriptor(DescriptorKind::file).number)
                                         : FilePlacement{};
  }
  void sync_name(const std::string& path) override { sync_directory_of(path, directory_.get()); }
  std::shared_ptr<Store> beneath(std::string root) override {
    return posix_store_beneath(std::move(root), Resolving::kernel,
                               directory_ ? directory_ : WorkingDirectory::now());
  }

 private:
  int base() const { return base_of(directory_.get()); }

  const std::shared_ptr<const WorkingDirectory> directory_;
};

}  // namespace

void sync_directory_of(const std::string& path, const WorkingDirectory* base) {
  std::string directory = path.substr(0, path.rfind('/') + 1);
  if (directory.empty()) directory = ".";
  const PosixDescriptor opened(open_at(base_of(base), directory, O_RDONLY | O_DIRECTORY));
  if (opened.get() < 0 || uninterrupted([&] { return ::fsync(opened.get()); }) == 0) return;
  if (errno == EIO || errno == ENOSPC || errno == EDQUOT)
    throw os_error("cannot sync directory", directory, errno);
}

FileStatus status_of(const struct stat& found) {
  return {.exists = true,
          .is_directory = S_ISDIR(found.st_mode),
          .size = found.st_size,
          .block_size = found.st_blksize > 0 ? found.st_blksize : usual_block_bytes,
          .allocated = found.st_blocks * 512,
          .is_special = !S_ISDIR(found.st_mode) && !S_ISREG(found.st_mode),
          .links = static_cast<int64_t>(found.st_nlink),
          .owner = found.st_uid,
          .is_own = found.st_uid == ::geteuid(),
          .others_may_write = (found.st_mode & (S_IWGRP | S_IWOTH)) != 0,
          .device = found.st_dev,
          .number = found.st_ino,
          .modified = int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec};
}

Store& posix_store() {
  // Never destroyed: files may be used, and opened, during the destruction of static objects.
  static auto* const store = new PosixStore(nullptr);
  return *store;
}

std::shared_ptr<Store> posix_store_in(std::shared_ptr<const WorkingDirectory> directory) {
  return std::make_shared<PosixStore>(std::move(directory));
}

std::shared_ptr<Store> posix_store_here() { return posix_store_in(WorkingDirectory::now()); }

}  // namespace sheaf
