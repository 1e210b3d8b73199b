// storage/posix/posix_open: opens files of the operating system.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "storage/file.hpp"
#include "storage/system/posix_descriptor.hpp"
#include "storage/working_directory.hpp"

namespace sheaf {

// Function that opens a file, initially and at each reopen. Returns a descriptor that is closed on exec, or a
// negative number with errno.
using FileOpener = std::function<int(int flags)>;

// Returns a function that opens `path`. A relative `path` is resolved against `directory` or, if that is
// null, against the current directory at each call.
FileOpener by_name(const std::string& path, std::shared_ptr<const WorkingDirectory> directory = nullptr);

// Opens the file that `how` finds and returns the descriptor. Throws not_found, permission, or io (EEXIST,
// EISDIR, ...) as the operating system reports. Refuses a directory, pipe or socket for any access, without
// waiting. Created files get mode 0666 less umask. Later reads return the bytes that other hosts wrote
// and published by a close. If the file system may keep cached pages across an open (opens_anew() in
// storage/filesystem/traits.hpp), drops them; pages that this host cannot drop remain stale. Sets `size` to
// the size in bytes of a regular file; leaves it unchanged for other files and for `fresh`. `path` is for
// messages.
PosixDescriptor open_descriptor(const std::string& path, Access access, const FileOpener& how,
                                int64_t* size = nullptr);

// Sets mode, link count and size in `found` to the values at the server, bypassing attributes that this host
// has cached. Falls back to fstat(2) if the kernel has no statx(2). Returns false with errno on failure.
bool status_of_server(int fd, struct stat& found);

}  // namespace sheaf
