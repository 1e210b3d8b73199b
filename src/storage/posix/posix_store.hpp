// storage/posix/posix_store: the operating system's files by path, for posix_store() and posix_store_here()
// (store.hpp).
#pragma once

#include <sys/stat.h>

#include "storage/store.hpp"
#include "storage/working_directory.hpp"

namespace sheaf {

// Syncs the directory that contains `path`, so that the name survives a power failure. Does nothing if this
// process may enter the directory but not read it, because it cannot sync such a directory. Throws io and
// no_space.
void sync_directory_of(const std::string& path, const WorkingDirectory* base);

// Returns the store of the operating system's files. Relative names count from `directory` or, if that is
// null, from the current directory of each call.
std::shared_ptr<Store> posix_store_in(std::shared_ptr<const WorkingDirectory> directory);

// Converts the result of stat(2) or fstat(2).
FileStatus status_of(const struct stat& found);

}  // namespace sheaf
