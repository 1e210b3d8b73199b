// api/posix/entries/memory: mmap of captured files: a private mapping of a file in memory that has a copy of
// what is in the range when it is mapped. Shared mappings that can be written are refused as by file systems
// without them (ENODEV).
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

// Which is as long as the stream then.
void fill_file(ContainerStream& stream, int fd, int64_t offset, int64_t end) {
  const int64_t size = stream.status().size;
  if (ftruncate64(fd, size) != 0) throw os_error("cannot make", "copy of a captured file", errno);
  end = std::min(end, size);
  if (end <= offset) return;
  void* const memory =
      next::mmap(nullptr, size_t(end - offset), PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
  if (memory == MAP_FAILED) throw os_error("cannot map", "copy of a captured file", errno);
  const int error = errno_of([&] { fill_memory(stream, static_cast<std::byte*>(memory), offset, end); });
  munmap(memory, size_t(end - offset));
  if (error != 0) throw os_error("cannot copy", "captured file", error);
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
  const int copy = memfd_create("captured", MFD_CLOEXEC);
  if (copy < 0) return refuse(errno);
  void* mapped = MAP_FAILED;
  const int error = errno_of([&] { fill_file(*file->stream, copy, offset, end); });
  if (error == 0) mapped = next::mmap(wanted, size, protection, MAP_PRIVATE | place, copy, offset);
  const int why = error != 0 ? error : errno;
  real::close(copy);
  return mapped == MAP_FAILED ? refuse(why) : mapped;
}

}  // namespace

SHEAF_ENTRY_AND(void*, mmap, mmap64, void* wanted, size_t size, int protection, int flags, int fd,
                off64_t offset) {
  return is_captured(fd) && !(flags & MAP_ANONYMOUS)
             ? map_captured(wanted, size, protection, flags, fd, offset)
             : next::mmap(wanted, size, protection, flags, fd, offset);
}

}  // namespace sheaf::posix
