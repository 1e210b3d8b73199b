// storage/working_directory: the directory that relative names count from. A program may change its current
// directory while a file is open; whoever opens, renames or removes by name later keeps the one that was
// current at the open.
#pragma once

#include <fcntl.h>

#include <memory>
#include <string>

#include "storage/system/posix_descriptor.hpp"

namespace sheaf {

struct WorkingDirectory {
  // The current one: the same object, and one descriptor, for all who ask while it is current and somebody
  // keeps it. It stays the same directory if it is renamed, or its name becomes too long, or may not be read.
  // Null if it cannot be kept (no descriptor is left): names then count from whatever is current. Any thread.
  static std::shared_ptr<const WorkingDirectory> now();

  Descriptor descriptor;
  std::string identity;  // differs from that of any other directory as long as this object lives
};

// What openat(2) and its like take for names that count from `directory`; null: from the current one.
inline int base_of(const WorkingDirectory* directory) {
  return directory ? directory->descriptor.get() : AT_FDCWD;
}

}  // namespace sheaf
