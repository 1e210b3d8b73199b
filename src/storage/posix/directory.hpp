// storage/posix/directory: what is in a directory.
#pragma once

#include <string>
#include <vector>

#include "base/export.hpp"

namespace sheaf {

// Names of the entries, sorted, without "." and "..". Throws what opening a file throws.
SHEAF_EXPORT std::vector<std::string> list_directory(const std::string& path);

}  // namespace sheaf
