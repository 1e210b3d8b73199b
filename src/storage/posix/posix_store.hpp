// storage/posix/posix_store: the operating system's files by path, for posix_store() and posix_store_here()
// (store.hpp).
#pragma once

#include <sys/stat.h>

#include "storage/store.hpp"
#include "storage/traits/traits.hpp"
#include "storage/working_directory.hpp"

namespace sheaf {

// Brings the names in the directory of `path` to disk. Best effort: a directory that may be entered but not
// read cannot be synced by anyone. Throws io and no_space.
void sync_directory_of(const std::string& path, const WorkingDirectory* base);

class PosixStore final : public Store {
 public:
  // Relative names count from `directory`; null: from the one that is current at each call.
  explicit PosixStore(std::shared_ptr<const WorkingDirectory> directory = nullptr)
      : directory_(std::move(directory)) {}

  std::shared_ptr<File> open(const std::string& path, Access access) override;
  bool make_in_stripes(const std::string& path, const Striping& wanted) override;
  FileStatus status(const std::string& path) override;
  void remove(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  std::shared_ptr<WriteSlots> make_slots(int count) override;
  std::shared_ptr<WriteSlots> join_slots(const std::string& name, int count) override;
  std::vector<std::string> names_in(const std::string& directory) override;
  std::string place_of(const std::string& path) override;
  std::string target_of(const std::string& path) override;
  void take_after(const std::string& path, const std::string& like, Making making) override;
  FileSystemTraits traits_of(File& file) override {
    const FileDescriptor own = file.descriptor(Whose::file);
    return own.number < 0 ? traits(file.path()) : traits_of_descriptor(own.number);
  }
  FileSystemTraits traits(const std::string& path) override {
    return traits_of_path(path, base_of(directory_.get()));
  }
  void sync_name(const std::string& path) override { sync_directory_of(path, directory_.get()); }
  std::shared_ptr<Store> beneath(std::string root) override;

 private:
  const std::shared_ptr<const WorkingDirectory> directory_;
};

// What stat(2) and fstat(2) found.
FileStatus status_of(const struct stat& found);

}  // namespace sheaf
