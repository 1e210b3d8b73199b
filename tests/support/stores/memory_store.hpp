// support/stores/memory_store: files that live in this process, for tests and simulations. They behave as the
// files of POSIX do: holes read as zero, a removed file lives until its last File is closed, rename replaces.
// Pages that were never written take no memory, so a byte at offset 2^40 costs one page.
//
// There are no directories except those a test names: any path can be created. Safe for use from several
// threads.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "storage/store.hpp"

namespace sheaf {

class MemoryStore final : public Store {
 public:
  // block_size: what status() says. page_size: the unit of allocation and of next_data(). Both in bytes, > 0.
  explicit MemoryStore(int64_t block_size = 4096, int64_t page_size = 4096);
  ~MemoryStore() override;

  std::shared_ptr<File> open(const std::string& path, Access access) override;
  bool make_in_stripes(const std::string& path, const Striping& wanted) override;
  FileStatus status(const std::string& path) override;
  void remove(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  std::vector<std::string> names_in(const std::string& directory) override;

  // From now on `path` answers as a directory does.
  void add_directory(const std::string& path);

  // All bytes of a file, holes included. Throws not_found.
  std::vector<std::byte> contents(const std::string& path) const;

  // As whoever made it has wished.
  Striping striping(const std::string& path) const;

  // Creates or replaces a file.
  void set_contents(const std::string& path, std::span<const std::byte> data);

  // Names of all files, sorted.
  std::vector<std::string> paths() const;

  // Bytes of the pages that the named files take.
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
