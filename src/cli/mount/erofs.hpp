// cli/mount/erofs: the parts of an image of EROFS, the read-only file system of Linux, as its documentation
// gives them (Documentation/filesystems/erofs.rst; fields are little-endian, inodes extended, data in blocks
// one behind the other).
//
// Block 0 has the superblock; folders and data lie in blocks of their own; inodes are numbered from 0, the
// root, and each has room for its attributes behind it. Sizes and offsets in bytes, or in blocks where it
// says so.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mount/streams.hpp"

namespace sheaf::cli::erofs {

inline constexpr int64_t block_size = 4096;
// An inode ends its first block; its attributes have the second, and are made only when that is read.
inline constexpr int64_t inode_blocks = 2;
inline constexpr int64_t most_blocks = UINT32_MAX;

struct Superblock {
  uint64_t inodes = 0;
  uint32_t blocks = 0;     // of the whole image
  uint32_t inodes_at = 0;  // block
};
void put_superblock(std::span<std::byte> block, const Superblock& superblock);

void put_inode(std::span<std::byte> block, const struct stat& status, uint32_t data_at);
// Of Sheaf, as extended ones of the user. Those that do not fit are left out.
void put_attributes(std::span<std::byte> block, const mount::Attributes& attributes);

struct Child {
  std::string name;
  uint64_t inode = 0;
  bool is_folder = false;
};
// Appends whole blocks with these, among which "." and ".." are; returns the size of the folder.
int64_t append_folder(std::vector<std::byte>& blocks, std::vector<Child> children);

}  // namespace sheaf::cli::erofs
