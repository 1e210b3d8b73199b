// storage/decorators/few_descriptors: files opened for reading by the thousands, as by the tools and by the
// serial reader of a multifile of many physical files. The most recently used ones hold a descriptor. The
// others are evicted and reopened on their next use.
#pragma once

#include <memory>
#include <string>

#include "storage/file.hpp"

namespace sheaf {

// Opens `path` for reading (Access::read). The File behaves like any other, except that each call may throw
// the errors of an open. All files opened with this function hold at most half of the descriptors that
// RLIMIT_NOFILE grants, or as many as threads use at once. Files of stores without descriptors are returned
// as the store opens them. Throws the errors of Store::open.
std::shared_ptr<File> open_one_of_many(Store& store, const std::string& path);

}  // namespace sheaf
