// api/posix/entries/memory: mmap of captured files: a copy of what is in the file when it is mapped. Shared
// mappings that can be written are refused as by file systems without them (ENODEV).
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

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

// Only what somebody has written: memory for holes comes when it is touched.
void fill_memory(ContainerStream& stream, std::byte* memory, int64_t offset, int64_t end) {
  for (auto data = stream.next_data(offset); data && *data < end; data = stream.next_data(*data)) {
    const int64_t until = std::min(end, stream.next_hole(*data).value_or(*data));
    if (until <= *data) return;  // cut meanwhile
    stream.read({memory + (*data - offset), size_t(until - *data)}, *data);
    *data = until;
  }
}

void* map_captured(void* wanted, size_t size, int protection, int flags, int fd, off64_t offset) {
  const Inside inside;
  const Use file(fd);
  if (!file) return refuse(EBADF);
  const int mode = file->slot.load()->flags.load();
  if (mode & O_PATH) return refuse(EBADF);
  if ((mode & O_ACCMODE) == O_WRONLY) return refuse(EACCES);
  if (size == 0 || offset < 0 || offset % sysconf(_SC_PAGESIZE) != 0) return refuse(EINVAL);
  int64_t end = 0;
  if (__builtin_add_overflow(offset, size, &end)) return refuse(EOVERFLOW);
  const int kind = flags & MAP_TYPE;
  if (kind != MAP_SHARED && kind != MAP_PRIVATE && kind != MAP_SHARED_VALIDATE) return refuse(EINVAL);
  if (kind != MAP_PRIVATE && (protection & PROT_WRITE))
    return refuse((mode & O_ACCMODE) == O_RDONLY ? EACCES : ENODEV);
  const int place = flags & (MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_32BIT | MAP_NORESERVE);
  void* const memory =
      next::mmap(wanted, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | place, -1, 0);
  if (memory == MAP_FAILED) return memory;
  const int error =
      errno_of([&] { fill_memory(*file->stream, static_cast<std::byte*>(memory), offset, end); });
  if (error == 0 && mprotect(memory, size, protection) == 0) return memory;
  const int why = error != 0 ? error : errno;
  munmap(memory, size);
  return refuse(why);
}

}  // namespace

SHEAF_ENTRY_AND(void*, mmap, mmap64, void* wanted, size_t size, int protection, int flags, int fd,
                off64_t offset) {
  return is_captured(fd) && !(flags & MAP_ANONYMOUS)
             ? map_captured(wanted, size, protection, flags, fd, offset)
             : next::mmap(wanted, size, protection, flags, fd, offset);
}

}  // namespace sheaf::posix
