// support/stores/memory_store: files in the memory of this process, for tests and simulations. They behave
// like POSIX files: holes read as zeros, a removed file exists until its last File is closed, and rename
// replaces an existing file. Only written pages take memory, so a byte at offset 2^40 costs one page.
//
// Directories exist only if a test adds them, but a file can be created under any path. Safe for use from
// several threads.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "storage/store.hpp"

namespace sheaf {

class MemoryStore final : public Store {
 public:
  // Both sizes are positive numbers of bytes. status() reports block_size. page_size is the unit of
  // allocation and of next_data().
  explicit MemoryStore(int64_t block_size = 4096, int64_t page_size = 4096);
  ~MemoryStore() override;

  std::shared_ptr<File> open(const std::string& path, Access access) override;
  bool make_in_stripes(const std::string& path, const Striping& wanted) override;
  FileStatus status(const std::string& path) override;
  void remove(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  std::vector<std::string> names_in(const std::string& directory) override;

  // Makes `path` a directory, so that no file can be opened under this name.
  void add_directory(const std::string& path);

  // Returns all bytes of a file, holes included. Throws not_found.
  std::vector<std::byte> contents(const std::string& path) const;

  // Returns the striping requested by the creator of the file.
  Striping striping(const std::string& path) const;

  // Creates or replaces a file.
  void set_contents(const std::string& path, std::span<const std::byte> data);

  // Returns the names of all files, sorted.
  std::vector<std::string> paths() const;

  // Returns the total bytes of the pages of all files that have a name.
  int64_t allocated() const;

  struct Inode;  // private to the implementation

 private:
  std::shared_ptr<Inode> find(const std::string& path, const char* doing) const;

  const int64_t block_size_;
  const int64_t page_size_;
  mutable std::mutex mutex_;  // guards the two containers, not the inodes
  std::map<std::string, std::shared_ptr<Inode>> files_;
  std::set<std::string> directories_;
};

}  // namespace sheaf
