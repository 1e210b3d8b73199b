// storage/posix/posix_store: the operating system's files by path, for posix_store() and posix_store_here()
// (store.hpp).
#pragma once

#include <sys/stat.h>

#include "storage/store.hpp"
#include "storage/working_directory.hpp"

namespace sheaf {

// Brings the names in the directory of `path` to disk. Best effort: a directory that may be entered but not
// read cannot be synced by anyone. Throws io and no_space.
void sync_directory_of(const std::string& path, const WorkingDirectory* base);

// The operating system's files. Relative names count from `directory`; null: from the one that is current at
// each call.
std::shared_ptr<Store> posix_store_in(std::shared_ptr<const WorkingDirectory> directory);

// What stat(2) and fstat(2) found.
FileStatus status_of(const struct stat& found);

}  // namespace sheaf
