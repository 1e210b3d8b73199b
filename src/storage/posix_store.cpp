// storage/posix_store: the system calls on paths.
#include "storage/posix_store.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/error.hpp"
#include "storage/posix_file.hpp"
#include "storage/write_slots.hpp"

namespace sheaf {

namespace {
constexpr int64_t usual_block_bytes = 4096;
}  // namespace

FileStatus status_of(const struct stat& found) {
  FileStatus status;
  status.exists = true;
  status.is_directory = S_ISDIR(found.st_mode);
  status.size = found.st_size;
  status.allocated = found.st_blocks * 512;
  status.is_special = !S_ISDIR(found.st_mode) && !S_ISREG(found.st_mode);
  status.block_size = found.st_blksize > 0 ? found.st_blksize : usual_block_bytes;
  return status;
}

std::shared_ptr<File> PosixStore::open(const std::string& path, Access access) {
  return std::make_shared<PosixFile>(path, access);
}

FileStatus PosixStore::status(const std::string& path) {
  struct stat found;
  if (::stat(path.c_str(), &found) == 0) return status_of(found);
  if (errno == ENOENT || errno == ENOTDIR) return {};
  throw os_error("cannot get the status of", path, errno);
}

void PosixStore::remove(const std::string& path) {
  if (::unlink(path.c_str()) != 0) throw os_error("cannot remove", path, errno);
}

void PosixStore::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    throw os_error("cannot rename to '" + to + "' the file", from, errno);
}

std::shared_ptr<WriteSlots> PosixStore::make_slots(int count) { return make_locked_slots(count); }

std::shared_ptr<WriteSlots> PosixStore::join_slots(const std::string& name, int count) {
  return join_locked_slots(name, count);
}

Store& posix_store() {
  // Never destroyed: files may be used, and opened, while static objects of the program go away.
  static auto* const store = new PosixStore;
  return *store;
}

}  // namespace sheaf
