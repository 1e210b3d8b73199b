// storage/store: what the kernel does with open files that have a descriptor, and memory with others.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "storage/range.hpp"
#include "storage/store.hpp"
#include "storage/system/posix_transfer.hpp"

namespace sheaf {

namespace {

constexpr int64_t copy_buffer_bytes = 4 << 20;

// The kernel copies 64 KiB at a time: begun on a border, each fills large pages of the target. Few are not
// worth a call.
constexpr int64_t copy_border = 64 << 10;
constexpr int64_t least_from_border = 8 * copy_border;

// Returns the bytes that the kernel has copied.
int64_t copy_by_kernel(int source, int target, off_t from, off_t to, int64_t length) {
  int64_t done = 0;
  while (done < length) {
    const int64_t rest = length - done;
    const int64_t ahead = rest < least_from_border ? 0 : to % copy_border;
    const size_t count =
        std::min(static_cast<size_t>(ahead == 0 ? rest : copy_border - ahead), most_bytes_per_call);
    const ssize_t n = uninterrupted([&] { return ::copy_file_range(source, &from, target, &to, count, 0); });
    if (n <= 0) break;
    done += n;
  }
  return done;
}

void copy_through_memory(File& source, File& target, int64_t offset, int64_t target_offset, int64_t length) {
  std::vector<std::byte> buffer(static_cast<size_t>(std::min(length, copy_buffer_bytes)));
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
    const FileDescriptor from = source.descriptor(Whose::file), to = target.descriptor(Whose::file);
    if (from.number >= 0 && to.number >= 0 && from.number != to.number)
      done = copy_by_kernel(from.number, to.number, offset, target_offset, length);
  }
  // What is left the kernel cannot do, or it fails: then this says which of the two files is to blame.
  copy_through_memory(source, target, offset + done, target_offset + done, length - done);
}

void set_room_aside(File& file, int64_t size) {
  require_range(file.path(), size, 0);
  const FileDescriptor own = file.descriptor(Whose::file);
  if (size == 0 ||
      (own.number >= 0 && uninterrupted([&] { return ::fallocate(own.number, 0, 0, size); }) == 0))
    return;
  if (own.number >= 0 && errno != EOPNOTSUPP)
    throw os_error("cannot set aside " + std::to_string(size) + " bytes for", file.path(), errno);
  if (file.status().size < size) file.resize(size);
}

}  // namespace sheaf
