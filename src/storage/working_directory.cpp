#include "storage/working_directory.hpp"

#include <sys/stat.h>

#include <mutex>

namespace sheaf {

std::shared_ptr<const WorkingDirectory> WorkingDirectory::now() {
  static std::mutex mutex;
  static std::weak_ptr<const WorkingDirectory> latest;
  const auto identity_of = [](const struct stat& found) {
    return std::to_string(found.st_dev) + ":" + std::to_string(found.st_ino);
  };
  const std::lock_guard lock(mutex);
  struct stat found;
  auto known = latest.lock();
  if (known && ::stat(".", &found) == 0 && identity_of(found) == known->identity) return known;
  PosixDescriptor opened(open_at(AT_FDCWD, ".", O_PATH | O_DIRECTORY));
  if (::fstat(opened.get(), &found) != 0) return nullptr;
  latest = known = std::make_shared<const WorkingDirectory>(std::move(opened), identity_of(found));
  return known;
}

}  // namespace sheaf
