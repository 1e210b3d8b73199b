// cli/mount/image: generates an EROFS image of a tree while the kernel reads it. cli/mount/front mounts the
// image over the FUSE mount of the tree.
//
// The image consists of the superblock, the folders, the inodes and the streams; each stream starts on a
// block boundary. Only the folders and a few words per stream are in memory. Thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "cli/mount/erofs.hpp"
#include "cli/mount/file_system.hpp"

namespace sheaf::cli {

class Image final : public mount::ReadableStream {
 public:
  // `system` must outlive the image and know all sizes without reading. Throws `unsupported` if the image
  // would have too many blocks.
  explicit Image(const MountedFileSystem& system);

  int64_t size() const override { return blocks_ * erofs::block_size; }
  size_t read_at(std::span<std::byte> out, int64_t offset) override;

 private:
  struct ImageItem {  // the index of an item is its inode number
    mount::TreeNode node;
    int64_t at = 0;    // block number of its data
    int64_t size = 0;  // bytes
  };
  void add_folder(size_t item);
  size_t read_metadata(std::span<std::byte> out, int64_t offset) const;
  size_t read_data(std::span<std::byte> out, int64_t offset);
  void put_inode(std::span<std::byte> block, const ImageItem& item) const;

  const MountedFileSystem& system_;
  std::vector<ImageItem> items_;
  std::vector<size_t> parents_;     // of each item
  std::vector<size_t> files_;       // indices of items, sorted by block
  std::vector<std::byte> folders_;  // starting with block 1
  int64_t inodes_at_ = 0;           // block number
  int64_t data_at_ = 0;
  int64_t blocks_ = 0;
  StreamReaders readers_;
};

}  // namespace sheaf::cli
