#include "storage/posix/directory.hpp"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/error.hpp"

namespace sheaf {

std::vector<std::string> list_directory(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
  if (!directory) throw os_error("cannot open directory", path, errno);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(directory.get());
    if (!entry) break;
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  if (errno != 0) throw os_error("cannot read directory", path, errno);
  std::ranges::sort(names);
  return names;
}

}  // namespace sheaf
