// storage/decorators/few_descriptors: opens thousands of files for reading, as the tools and the serial
// reader of a multifile of many physical files do. The most recently used files hold a descriptor. The other
// files are evicted and reopened on their next use.
#pragma once

#include <memory>
#include <string>

#include "storage/file.hpp"

namespace sheaf {

// Opens `path` for reading (Access::read). The File behaves like any other, except that each call may throw
// the errors of an open. All files opened with this function together hold at most half of the descriptors
// that RLIMIT_NOFILE grants, or more if threads use more files at once. If the store has no descriptors,
// returns the file as the store opens it. Throws the errors of Store::open.
std::shared_ptr<File> open_one_of_many(Store& store, const std::string& path);

}  // namespace sheaf
