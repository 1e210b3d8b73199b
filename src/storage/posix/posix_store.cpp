// storage/posix/posix_store: the system calls on paths.
#include "storage/posix/posix_store.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <thread>

#include "base/error.hpp"
#include "storage/constants.hpp"
#include "storage/posix/directory.hpp"
#include "storage/posix/likeness.hpp"
#include "storage/posix/lustre_layout.hpp"
#include "storage/posix/posix_file.hpp"
#include "storage/system/posix_descriptor.hpp"
#include "storage/system/posix_transfer.hpp"
#include "storage/write_slots.hpp"

namespace sheaf {

namespace {

using namespace storage_constants;

int open_descriptor(const std::string& path, int flags, const WorkingDirectory* base) {
  return uninterrupted([&] { return ::openat(base_of(base), path.c_str(), flags | O_CLOEXEC); });
}

// What the link `path` says; empty: it is none. Throws permission where the system does not let this process
// follow it: others can put links into directories like /tmp.
std::string link_text(const std::string& path, const WorkingDirectory* base) {
  char text[PATH_MAX];
  const ssize_t length = ::readlinkat(base_of(base), path.c_str(), text, sizeof text);
  struct stat found;
  if (length > 0 && ::fstatat(base_of(base), path.c_str(), &found, 0) != 0 && errno == EACCES)
    throw os_error("cannot follow the link", path, EACCES);
  return {text, static_cast<size_t>(std::max<ssize_t>(0, length))};
}

// A host that knew a name before another host removed it, and maybe made it anew, is told so by its next
// call; the one after that finds what is there now.
template <class Call>
auto while_stale(Call call) {
  for (int tries = 1;; ++tries) {
    try {
      return call();
    } catch (const Error& e) {
      if (e.errno_value() != ESTALE || tries == most_stale_calls) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(tries));
  }
}

}  // namespace

void sync_directory_of(const std::string& path, const WorkingDirectory* base) {
  const auto slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = uninterrupted(
      [&] { return ::openat(base_of(base), directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (fd < 0) return;
  const int error = uninterrupted([&] { return ::fsync(fd); }) == 0 ? 0 : errno;
  ::close(fd);
  if (error == EIO || error == ENOSPC || error == EDQUOT)
    throw os_error("cannot sync directory", directory, error);
}

FileStatus status_of(const struct stat& found) {
  FileStatus status;
  status.exists = true;
  status.is_directory = S_ISDIR(found.st_mode);
  status.size = found.st_size;
  status.allocated = found.st_blocks * 512;
  status.is_special = !S_ISDIR(found.st_mode) && !S_ISREG(found.st_mode);
  status.links = static_cast<int64_t>(found.st_nlink);
  status.owner = found.st_uid;
  status.is_own = found.st_uid == ::geteuid();
  status.device = found.st_dev;
  status.number = found.st_ino;
  status.block_size = found.st_blksize > 0 ? found.st_blksize : usual_block_bytes;
  return status;
}

std::shared_ptr<File> PosixStore::open(const std::string& path, Access access) {
  return while_stale([&] { return std::make_shared<PosixFile>(path, access, directory_); });
}

// Whatever goes wrong, the open that follows says it.
bool PosixStore::make_in_stripes(const std::string& path, const Striping& wanted) {
  if (while_stale([&] { return traits(path); }).kind != FileSystem::lustre) return false;
  const Descriptor made(uninterrupted([&] {
    return ::openat(base_of(directory_.get()), path.c_str(),
                    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | lustre_layout_follows, 0666);
  }));
  if (made.get() < 0) return false;
  set_lustre_layout(made.get(), wanted);
  return true;
}

FileStatus PosixStore::status(const std::string& path) {
  return while_stale([&] {
    struct stat found;
    if (::fstatat(base_of(directory_.get()), path.c_str(), &found, 0) == 0) return status_of(found);
    if (errno == ENOENT || errno == ENOTDIR) return FileStatus{};
    throw os_error("cannot get the status of", path, errno);
  });
}

void PosixStore::remove(const std::string& path) {
  if (::unlinkat(base_of(directory_.get()), path.c_str(), 0) != 0)
    throw os_error("cannot remove", path, errno);
}

void PosixStore::rename(const std::string& from, const std::string& to) {
  const int base = base_of(directory_.get());
  if (::renameat(base, from.c_str(), base, to.c_str()) != 0)
    throw os_error("cannot rename to '" + to + "' the file", from, errno);
}

std::vector<std::string> PosixStore::names_in(const std::string& directory) {
  const std::string path = directory.empty() ? "." : directory;
  const int fd = open_descriptor(path, O_RDONLY | O_DIRECTORY, directory_.get());
  if (fd < 0) throw os_error("cannot open directory", path, errno);
  return list_directory(fd, path);
}

std::shared_ptr<WriteSlots> PosixStore::make_slots(int count) { return make_locked_slots(count); }

std::shared_ptr<WriteSlots> PosixStore::join_slots(const std::string& name, int count) {
  return join_locked_slots(name, count);
}

std::string PosixStore::place_of(const std::string& path) {
  return directory_ && !path.starts_with('/') ? directory_->identity() + "/" + path : path;
}

std::string PosixStore::target_of(const std::string& path) {
  std::string target = path;
  for (int links = 0; links <= most_links; ++links) {
    const std::string text = link_text(target, directory_.get());
    if (text.empty()) return target;
    target = text.starts_with('/') ? text : target.substr(0, target.rfind('/') + 1) + text;
  }
  throw os_error("cannot follow the links of", path, ELOOP);
}

// No link is followed to the new file, which is in a directory where others may have put one in its place.
void PosixStore::take_after(const std::string& path, const std::string& like, Making making) {
  const Descriptor from(open_descriptor(like, O_PATH, directory_.get()));
  const Descriptor to(open_descriptor(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, directory_.get()));
  struct stat found;
  if (from.get() < 0 || to.get() < 0 || ::fstat(to.get(), &found) != 0 || !S_ISREG(found.st_mode) ||
      found.st_nlink != 1)
    return;
  if (making == Making::begun) {
    ::fchmod(to.get(), S_IRUSR | S_IWUSR);
  } else {
    give_likeness(from.get(), to.get());
  }
}

Store& posix_store() {
  // Never destroyed: files may be used, and opened, while static objects of the program go away.
  static auto* const store = new PosixStore;
  return *store;
}

std::shared_ptr<Store> posix_store_here() { return std::make_shared<PosixStore>(WorkingDirectory::now()); }

}  // namespace sheaf
