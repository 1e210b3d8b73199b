// storage/working_directory: the directory that relative names count from. A program may change its current
// directory while a file is open; whoever opens, renames or removes by name later keeps the one that was
// current at the open.
#pragma once

#include <fcntl.h>

#include <memory>
#include <string>

namespace sheaf {

class WorkingDirectory {
 public:
  // The current one: the same object, and one descriptor, for all who ask while it is current and somebody
  // keeps it. It stays the same directory if it is renamed, or its name becomes too long, or may not be read.
  // Null if it cannot be kept (no descriptor is left): names then count from whatever is current. Any thread.
  static std::shared_ptr<const WorkingDirectory> now();

  ~WorkingDirectory();
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;

  int descriptor() const { return descriptor_; }

  // Differs from that of any other directory as long as this object lives.
  const std::string& identity() const { return identity_; }

 private:
  WorkingDirectory(int descriptor, std::string identity)
      : descriptor_(descriptor), identity_(std::move(identity)) {}

  const int descriptor_;
  const std::string identity_;
};

// What openat(2) and its like take for names that count from `directory`; null: from the current one.
inline int base_of(const WorkingDirectory* directory) {
  return directory ? directory->descriptor() : AT_FDCWD;
}

}  // namespace sheaf
