// api/posix/entries/memory: mmap of captured files: a copy of what is in the file when it is mapped. Shared
// mappings that can be written are refused as by file systems without them (ENODEV).
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/posix/descriptors.hpp"
#include "api/posix/errors.hpp"
#include "api/posix/real.hpp"

namespace sheaf::posix {

namespace {

namespace next {
constinit Real<void*(void*, size_t, int, int, int, off64_t)> mmap{"mmap64"};
}

void* refuse(int error) {
  errno = error;
  return MAP_FAILED;
}

void* map_captured(void* wanted, size_t size, int protection, int flags, int fd, off64_t offset) {
  const Inside inside;
  const Use file(fd);
  if (!file) return refuse(EBADF);
  const int mode = file->slot.load()->flags.load();
  if (mode & O_PATH) return refuse(EBADF);
  if ((mode & O_ACCMODE) == O_WRONLY) return refuse(EACCES);
  if (size == 0 || offset < 0 || offset % sysconf(_SC_PAGESIZE) != 0) return refuse(EINVAL);
  const int kind = flags & MAP_TYPE;
  if (kind != MAP_PRIVATE && (protection & PROT_WRITE))
    return refuse((mode & O_ACCMODE) == O_RDONLY ? EACCES : ENODEV);
  const int place = flags & (MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_32BIT | MAP_NORESERVE);
  void* const memory =
      next::mmap(wanted, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | place, -1, 0);
  if (memory == MAP_FAILED) return memory;
  const int error = errno_of([&] { file->stream->read({static_cast<std::byte*>(memory), size}, offset); });
  if (error == 0 && mprotect(memory, size, protection) == 0) return memory;
  const int why = error != 0 ? error : errno;
  munmap(memory, size);
  return refuse(why);
}

}  // namespace

SHEAF_ENTRY_AND(void*, mmap, mmap64, void* wanted, size_t size, int protection, int flags, int fd,
                off64_t offset) {
  return is_captured(fd) ? map_captured(wanted, size, protection, flags, fd, offset)
                         : next::mmap(wanted, size, protection, flags, fd, offset);
}

}  // namespace sheaf::posix
