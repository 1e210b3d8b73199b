#include "storage/posix/directory.hpp"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/error.hpp"

namespace sheaf {

namespace {

using Stream = std::unique_ptr<DIR, int (*)(DIR*)>;

std::vector<std::string> names_of(const Stream& directory, const std::string& path) {
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

}  // namespace

std::vector<std::string> list_directory(const std::string& path) {
  return names_of(Stream(::opendir(path.c_str()), ::closedir), path);
}

std::vector<std::string> list_directory(int descriptor, const std::string& path) {
  Stream directory(::fdopendir(descriptor), ::closedir);
  if (!directory) ::close(descriptor);
  return names_of(directory, path);
}

}  // namespace sheaf
