// storage/directory: what is in a directory.
#pragma once

#include <string>
#include <vector>

namespace sheaf {

// Names of the entries, sorted, without "." and "..". Throws what opening a file throws.
std::vector<std::string> list_directory(const std::string& path);

}  // namespace sheaf
