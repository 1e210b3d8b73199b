// storage/posix/posix_open: the system calls that open a file.
#include "storage/posix/posix_open.hpp"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "storage/filesystem/traits.hpp"
#include "storage/system/posix_transfer.hpp"

namespace sheaf {

namespace {

// Open flags of an access, and the message if the open fails.
struct AccessFlags {
  int flags;
  const char* failed;
};
constexpr AccessFlags way_of(Access access) {
  constexpr AccessFlags ways[] = {{O_RDONLY, "cannot open"},
                                  {O_RDWR, "cannot open for writing"},
                                  {O_RDWR | O_CREAT, "cannot create"},
                                  {O_RDWR | O_CREAT | O_EXCL, "cannot create"},
                                  {O_RDWR | O_NOFOLLOW, "cannot open for writing"}};
  return ways[static_cast<size_t>(access)];
}
static_assert(way_of(Access::sidecar).flags == (O_RDWR | O_NOFOLLOW));

// Return why a file counts as foreign, given the errno of its open or its status; null if it does not.
const char* foreign_by(int error) {
  if (error == ELOOP) return "is a symbolic link";
  if (error == EISDIR) return "is a directory";
  return error == ENXIO || error == ENODEV ? "is no regular file" : nullptr;
}
const char* foreign_by(const struct stat& found) {
  if (S_ISDIR(found.st_mode)) return foreign_by(EISDIR);
  if (!S_ISREG(found.st_mode)) return foreign_by(ENXIO);
  return found.st_nlink > 1 ? "has other names (hard links)" : nullptr;
}

// Throws invalid_argument for files without positions.
void require_positions(const std::string& path, const struct stat& found) {
  const char* const what = S_ISFIFO(found.st_mode) ? "pipe" : S_ISSOCK(found.st_mode) ? "socket" : nullptr;
  if (what)
    throw Error(Code::invalid_argument, "'" + path + "': is a " + what + ", not a regular file", ESPIPE);
}

// Opens the file. Waits only for the holder of a lease on a regular file. Throws if the open fails.
PosixDescriptor open_or_throw(const std::string& path, Access access, const FileOpener& how) {
  const auto& [flags, failed] = way_of(access);
  const auto open = [&](int more) { return PosixDescriptor(how(flags | O_CLOEXEC | O_NOCTTY | more)); };
  // A file that this open creates is always regular.
  PosixDescriptor opened = open(access == Access::fresh ? 0 : O_NONBLOCK);
  if (opened.get() >= 0) return opened;
  const int error = errno;
  if (const char* const why = access == Access::sidecar ? foreign_by(error) : nullptr)
    throw file_error(Code::foreign, path, why);
  struct stat found {};
  if (access != Access::fresh && (error == ENXIO || error == EWOULDBLOCK)) {
    const PosixDescriptor there(how(O_PATH | O_CLOEXEC));
    if (::fstat(there.get(), &found) == 0) require_positions(path, found);
  }
  if (error == EWOULDBLOCK && access != Access::sidecar && S_ISREG(found.st_mode)) opened = open(0);
  if (opened.get() < 0) throw os_error(failed, path, error);
  return opened;
}

}  // namespace

FileOpener by_name(const std::string& path, std::shared_ptr<const WorkingDirectory> directory) {
  return [path, directory = std::move(directory)](int flags) {
    return open_at(base_of(directory.get()), path, flags);
  };
}

// Fills `found` as fstat(2) does, without calling it: fstat(2) may cost another message. Uses fstat(2) only
// on systems without statx(2).
bool status_of_server(int fd, struct stat& found) {
  struct statx there;
  if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &there) != 0)
    return errno == ENOSYS && ::fstat(fd, &found) == 0;
  found.st_mode = there.stx_mode;
  found.st_nlink = there.stx_nlink;
  found.st_size = static_cast<off_t>(there.stx_size);
  return true;
}

// An open may block indefinitely: for the other end of a pipe or device, or for another process that holds a
// lease on a regular file.
PosixDescriptor open_descriptor(const std::string& path, Access access, const FileOpener& how,
                                int64_t* size) {
  PosixDescriptor opened = open_or_throw(path, access, how);
  if (access == Access::fresh) return opened;
  struct stat found {};
  const bool keeps = !opens_anew(kind_of_descriptor(opened.get()));
  const bool known = keeps ? status_of_server(opened.get(), found) : ::fstat(opened.get(), &found) == 0;
  if (const char* const why = known && access == Access::sidecar ? foreign_by(found) : nullptr)
    throw file_error(Code::foreign, path, why);
  if (known) require_positions(path, found);
  if (S_ISDIR(found.st_mode)) throw os_error(way_of(access).failed, path, EISDIR);
  ::fcntl(opened.get(), F_SETFL, 0);
  // This call keeps dirty pages, which hold the writes of this host.
  if (keeps) ::posix_fadvise(opened.get(), 0, 0, POSIX_FADV_DONTNEED);
  if (size && S_ISREG(found.st_mode)) *size = found.st_size;
  return opened;
}

}  // namespace sheaf
