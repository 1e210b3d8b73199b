// storage/posix/by_descriptor: the functions of storage/file.hpp that use the kernel if the open files have
// descriptors, and memory otherwise.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "base/error.hpp"
#include "storage/constants.hpp"
#include "storage/range.hpp"
#include "storage/store.hpp"
#include "storage/system/posix_transfer.hpp"

namespace sheaf {

namespace {

using namespace storage_constants;

// Copies inside the kernel until an error or the end of the source. Returns the number of bytes copied.
int64_t copy_by_kernel(int source, int target, off_t from, off_t to, int64_t length) {
  int64_t done = 0;
  while (done < length) {
    const int64_t rest = length - done;
    const int64_t ahead = rest < min_from_border ? 0 : to % copy_border;
    const size_t count =
        std::min(static_cast<size_t>(ahead == 0 ? rest : copy_border - ahead), max_bytes_per_call);
    const ssize_t n = uninterrupted([&] { return ::copy_file_range(source, &from, target, &to, count, 0); });
    if (n <= 0) break;
    done += n;
  }
  return done;
}

void copy_through_memory(File& source, File& target, int64_t offset, int64_t target_offset, int64_t length) {
  LineBytes buffer(static_cast<size_t>(std::min(length, copy_buffer_bytes)));
  while (length > 0) {
    const auto part = std::span(buffer).first(static_cast<size_t>(std::min(length, copy_buffer_bytes)));
    const auto got = static_cast<int64_t>(source.read_at(part, offset));
    target.write_at(part.first(static_cast<size_t>(got)), target_offset);
    offset += got;
    target_offset += got;
    length -= got;
    if (got < static_cast<int64_t>(part.size()))
      throw file_error(Code::damaged, source.path(),
                       "ends at byte " + std::to_string(offset) + ", " + std::to_string(length) +
                           " bytes before the range to be copied");
  }
}

}  // namespace

void copy_range(File& source, File& target, int64_t offset, int64_t target_offset, int64_t length) {
  if (length < 0) throw Error(Code::invalid_argument, "cannot copy a negative number of bytes");
  require_range(source.path(), offset, static_cast<uint64_t>(length));
  require_range(target.path(), target_offset, static_cast<uint64_t>(length));
  if (&source == &target && offset < target_offset + length && target_offset < offset + length)
    throw Error(Code::invalid_argument, "cannot copy between overlapping ranges of '" + source.path() + "'");
  int64_t done = 0;
  {
    const FileDescriptor from = source.descriptor(DescriptorKind::file),
                         to = target.descriptor(DescriptorKind::file);
    if (from.number >= 0 && to.number >= 0 && from.number != to.number)
      done = copy_by_kernel(from.number, to.number, offset, target_offset, length);
  }
  // Copies the bytes that the kernel could not copy. If a file has failed, this copy throws an error with its
  // path.
  copy_through_memory(source, target, offset + done, target_offset + done, length - done);
}

void set_room_aside(File& file, int64_t size) {
  require_range(file.path(), size, 0);
  const FileDescriptor own = file.descriptor(DescriptorKind::file);
  if (size == 0 ||
      (own.number >= 0 && uninterrupted([&] { return ::fallocate(own.number, 0, 0, size); }) == 0))
    return;
  if (own.number >= 0 && errno != EOPNOTSUPP)
    throw os_error("cannot set aside " + std::to_string(size) + " bytes for", file.path(), errno);
  if (file.status().size < size) file.resize(size);
}

std::shared_ptr<std::byte> map_range(File& file, int64_t offset, int64_t length) {
  SHEAF_ASSERT(offset % 4096 == 0 && length > 0);  // the smallest page
  require_range(file.path(), offset, static_cast<uint64_t>(length));
  const FileDescriptor own = file.descriptor(DescriptorKind::file);
  if (own.number < 0) return nullptr;
  const auto bytes = static_cast<size_t>(length);
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, own.number, offset);
  if (at == MAP_FAILED) return nullptr;
  return {static_cast<std::byte*>(at), [bytes](std::byte* begin) { ::munmap(begin, bytes); }};
}

void discard_range(File& file, int64_t offset, int64_t length) {
  const FileDescriptor own = file.descriptor(DescriptorKind::file);
  if (length > 0 && own.number >= 0)
    ::fallocate(own.number, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length);
}

// Closes a duplicate of the descriptor: network file systems flush in every close(2), not only in the last
// one.
void publish_by_close(File& file) {
  const FileDescriptor own = file.descriptor(DescriptorKind::file);
  const int fd = own.number < 0 ? -1 : ::fcntl(own.number, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return file.sync();
  if (::close(fd) == 0) return;
  if (errno == EINTR) return file.sync();
  throw os_error("cannot hand over what was written to", file.path(), errno);
}

}  // namespace sheaf
