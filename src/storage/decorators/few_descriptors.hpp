// storage/decorators/few_descriptors: files that are read, thousands of them open at a time, as by the tools
// and the serial reader of a multifile of many physical files. The process has descriptors for those used
// last; others rest, and are opened again when they are used next.
#pragma once

#include <memory>
#include <string>

#include "storage/file.hpp"

namespace sheaf {

// Opens `path` for reading (Access::read). The File behaves like any other, but that each call may throw what
// an open throws. All files of the process that were opened like this hold
// half of the descriptors that RLIMIT_NOFILE grants, or as many as threads use at once. Files of stores
// without descriptors are as the store opens them. Throws what Store::open throws.
std::shared_ptr<File> open_one_of_many(Store& store, const std::string& path);

}  // namespace sheaf
