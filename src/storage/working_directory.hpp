// storage/working_directory: the directory from which relative names count. A program may change its current
// directory while a file is open. Code that later opens, renames or removes by name uses the directory that
// was current at the open.
#pragma once

#include <fcntl.h>

#include <memory>
#include <string>

#include "storage/system/posix_descriptor.hpp"

namespace sheaf {

struct WorkingDirectory {
  // Returns the current directory. Callers share one object and one descriptor while the directory is current
  // and a caller holds the object. The object denotes the same directory even if that is renamed, if its name
  // becomes too long, or if it becomes unreadable. Returns null if no descriptor is left; names then count
  // from the current directory of each call. Any thread may call it.
  static std::shared_ptr<const WorkingDirectory> now();

  PosixDescriptor descriptor;
  std::string identity;  // unique among directories while this object lives
};

// Returns the directory argument of openat(2) and similar calls for names that count from `directory`, or
// from the current directory if it is null.
inline int base_of(const WorkingDirectory* directory) {
  return directory ? directory->descriptor.get() : AT_FDCWD;
}

}  // namespace sheaf
