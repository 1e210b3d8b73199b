// cli/mount/erofs: writes the parts of an image of EROFS, the read-only file system of Linux, according to
// the kernel's documentation (Documentation/filesystems/erofs.rst). Fields are little-endian, inodes have the
// extended format, and data blocks are contiguous.
//
// Block 0 has the superblock. Folders and data occupy separate blocks. Inodes are numbered from 0, the root,
// and each is followed by space for its attributes. Sizes and offsets are in bytes unless marked as blocks.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "streams/mount/streams.hpp"

namespace sheaf::cli::erofs {

inline constexpr int64_t block_size = 4096;
// An inode is at the end of its first block. Its extended attributes fill the second block, which the image
// generates only when the kernel reads it.
inline constexpr int64_t inode_blocks = 2;
inline constexpr int64_t max_blocks = UINT32_MAX;

struct Superblock {
  uint64_t inodes = 0;
  uint32_t blocks = 0;     // size of the complete image
  uint32_t inodes_at = 0;  // block number
};
void put_superblock(std::span<std::byte> block, const Superblock& superblock);

void put_inode(std::span<std::byte> block, const struct stat& status, uint32_t data_at);
// Writes the extended attributes with names in the namespace "user". Omits attributes that do not fit into
// the block.
void put_attributes(std::span<std::byte> block, const mount::Attributes& attributes);

struct Child {
  std::string name;
  uint64_t inode = 0;
  bool is_folder = false;
};
// Appends the blocks of a folder with the entries `children` to `blocks`. `children` must include "." and
// "..". Returns the size of the folder in bytes.
int64_t append_folder(std::vector<std::byte>& blocks, std::vector<Child> children);

}  // namespace sheaf::cli::erofs
