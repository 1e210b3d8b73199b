// storage/posix_store: the operating system's files by path. posix_store() (store.hpp) is the one object of
// it.
#pragma once

#include <sys/stat.h>

#include "storage/store.hpp"

namespace sheaf {

class PosixStore final : public Store {
 public:
  std::shared_ptr<File> open(const std::string& path, Access access) override;
  FileStatus status(const std::string& path) override;
  void remove(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  std::shared_ptr<WriteSlots> make_slots(int count) override;
  std::shared_ptr<WriteSlots> join_slots(const std::string& name, int count) override;
};

// What stat(2) and fstat(2) found.
FileStatus status_of(const struct stat& found);

}  // namespace sheaf
