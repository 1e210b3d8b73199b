#include "cli/mount/erofs.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/checked.hpp"
#include "format/fields.hpp"

namespace sheaf::cli::erofs {

namespace {

constexpr uint32_t magic = 0xE0F5E1E2;
constexpr size_t superblock_at = 1024;
constexpr uint8_t block_bits = 12;
constexpr int64_t number_unit = 32;  // bytes; inodes are addressed in this unit, relative to the first

constexpr uint16_t extended = 1;  // format of inodes: extended, with contiguous data blocks
constexpr int64_t inode_size = 64;
constexpr int64_t attributes_header = 12;
constexpr size_t entry_header = 4;
constexpr uint8_t of_nobody = 0, of_user = 1;
constexpr int64_t attribute_unit = 4;

constexpr size_t entry_size = 12;
constexpr uint8_t regular_file = 1, directory = 2;

constexpr uint64_t number_of(uint64_t inode) {
  return (inode * inode_blocks * block_size + block_size - inode_size) / number_unit;
}

template <class... T>
void put(std::byte* to, const T&... fields) {
  format::put_fields(to, std::tie(fields...));
}

}  // namespace

void put_superblock(std::span<std::byte> block, const Superblock& superblock) {
  const uint32_t none = 0;
  const uint64_t time = 0;
  const std::array<std::byte, 32> names{};  // volume name and UUID
  put(&block[superblock_at], magic, none, none, block_bits, uint8_t{0}, uint16_t{number_of(0)},
      superblock.inodes, time, none, superblock.blocks, superblock.inodes_at, none, names);
}

void put_inode(std::span<std::byte> block, const struct stat& status, uint32_t data_at) {
  constexpr uint16_t units = (block_size - attributes_header) / attribute_unit + 1;
  put(&block[block_size - inode_size], extended, units, uint16_t(status.st_mode), uint16_t{0},
      uint64_t(status.st_size), data_at, uint32_t(status.st_ino), uint32_t(status.st_uid),
      uint32_t(status.st_gid), uint64_t(status.st_mtim.tv_sec), uint32_t(status.st_mtim.tv_nsec),
      uint32_t(status.st_nlink));
}

void put_attributes(std::span<std::byte> block, const mount::Attributes& attributes) {
  size_t at = attributes_header;
  for (const auto& [name, value] : attributes) {
    const std::string whole = "sheaf." + name;
    const auto length = int64_t(entry_header + whole.size() + value.size());
    const auto size = size_t(*align_up(length, attribute_unit));
    if (at + size > block.size()) continue;
    put(&block[at], uint8_t(whole.size()), of_user, uint16_t(value.size()));
    std::memcpy(&block[at + entry_header], whole.data(), whole.size());
    std::memcpy(&block[at + entry_header + whole.size()], value.data(), value.size());
    at += size;
  }
  // Fill the rest of the block with one attribute that has neither a namespace nor a name.
  if (at < block.size()) put(&block[at], uint8_t{0}, of_nobody, uint16_t(block.size() - at - entry_header));
}

int64_t append_folder(std::vector<std::byte>& blocks, std::vector<Child> children) {
  std::ranges::sort(children, {}, &Child::name);
  const size_t begin = blocks.size();
  size_t used = 0;
  for (size_t first = 0; first < children.size();) {
    size_t end = first;
    for (used = 0; end < children.size(); ++end) {
      const size_t more = entry_size + children[end].name.size();
      if (used + more > size_t(block_size)) break;
      used += more;
    }
    const size_t at = blocks.size();
    blocks.resize(at + size_t(block_size));
    size_t name_at = (end - first) * entry_size;
    for (size_t c = first; c < end; ++c) {
      const Child& child = children[c];
      put(&blocks[at + (c - first) * entry_size], number_of(child.inode), uint16_t(name_at),
          child.is_folder ? directory : regular_file, uint8_t{0});
      std::memcpy(&blocks[at + name_at], child.name.data(), child.name.size());
      name_at += child.name.size();
    }
    first = end;
  }
  return int64_t(blocks.size() - begin) - block_size + int64_t(used);
}

}  // namespace sheaf::cli::erofs
