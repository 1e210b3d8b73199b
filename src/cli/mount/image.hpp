// cli/mount/image: a tree as an image of EROFS, made while it is read: what the kernel mounts over the tree
// (cli/mount/front).
//
// Behind the superblock the folders, then the inodes, then the streams, each from a block of its own. In
// memory are the folders, and a few words for each stream. From any thread.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "cli/mount/erofs.hpp"
#include "cli/mount/file_system.hpp"

namespace sheaf::cli {

class Image final : public mount::Reader {
 public:
  // The file system outlives it; sizes are known without reading. Throws unsupported if there are too many
  // blocks.
  explicit Image(const FileSystem& system);

  int64_t size() const override { return blocks_ * erofs::block_size; }
  size_t read_at(std::span<std::byte> out, int64_t offset) override;

 private:
  struct Item {  // numbered as its inode
    mount::Node node;
    int64_t at = 0;    // block of its data
    int64_t size = 0;  // bytes
  };
  void add_folder(size_t item);
  size_t read_metadata(std::span<std::byte> out, int64_t offset) const;
  size_t read_data(std::span<std::byte> out, int64_t offset);
  void put_inode(std::span<std::byte> block, const Item& item) const;
  std::shared_ptr<mount::Reader> reader(size_t file);

  const FileSystem& system_;
  std::vector<Item> items_;
  std::vector<size_t> parents_;     // of the items
  std::vector<size_t> files_;       // items, by their blocks
  std::vector<std::byte> folders_;  // from block 1 on
  int64_t inodes_at_ = 0;           // blocks
  int64_t data_at_ = 0;
  int64_t blocks_ = 0;
  std::mutex mutex_;  // guards what follows
  std::unordered_map<size_t, std::shared_ptr<mount::Reader>> readers_;
};

}  // namespace sheaf::cli
