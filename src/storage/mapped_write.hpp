// storage/mapped_write: large writes of several processes to one file on tmpfs, through a mapping.
//
// tmpfs admits one write(2) to a file at a time, and eight processes that write one after another reach 0.9 of what one
// process does, because each works on another core than the one before. Pages brought in by madvise(2) need no lock of
// the file: two processes at once then reach what one does (docs/tuning.md, "One physical file").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sheaf {

// Writes `parts`, together `length` bytes, one behind the other from `offset` (bytes) of the file that is open for reading
// and writing as `fd`, which grows if need be. False if
// the kernel does not bring in the pages: it is too old, the file system is full, a limit is reached. Then any part of
// the bytes may have been written, and pwrite(2) of the same bytes does the job or says what the matter is.
bool write_mapped(int fd, std::span<const std::span<const std::byte>> parts, size_t length, int64_t offset);

}  // namespace sheaf
