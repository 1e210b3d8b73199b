#include "cli/mount/image.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "cli/mount/answer.hpp"

namespace sheaf::cli {

using erofs::block_size;
using erofs::inode_blocks;

Image::Image(const MountedFileSystem& system) : system_(system) {
  items_.push_back({node_at(system, mount::Tree::root), 0, 0});
  parents_.push_back(0);
  for (size_t i = 0; i < items_.size(); ++i) {
    if (items_[i].node.is_folder())
      add_folder(i);
    else
      files_.push_back(i);
  }
  inodes_at_ = 1 + std::ssize(folders_) / block_size;
  data_at_ = blocks_ = inodes_at_ + std::ssize(items_) * inode_blocks;
  for (const size_t f : files_) {
    ImageItem& file = items_[f];
    file.at = blocks_;
    file.size = file.node.streams->facts(file.node.stream).size;
    blocks_ += must_fit(align_up(file.size, block_size), "a stream") / block_size;
    if (blocks_ > erofs::max_blocks) throw Error(Code::unsupported, "an image of EROFS has 16 TiB at most");
  }
}

void Image::add_folder(size_t item) {
  const mount::TreeNode folder = items_[item].node;
  std::vector<erofs::Child> children{{".", item, true}, {"..", parents_[item], true}};
  for (int64_t position = 0; auto entry = system_.tree.entry(folder.number, position); ++position) {
    children.push_back({std::move(entry->name), items_.size(), entry->node.is_folder()});
    items_.push_back({entry->node, 0, 0});
    parents_.push_back(item);
  }
  items_[item].at = 1 + std::ssize(folders_) / block_size;
  items_[item].size = erofs::append_folder(folders_, std::move(children));
}

size_t Image::read_at(std::span<std::byte> out, int64_t offset) {
  size_t done = 0;
  while (done < out.size() && offset < size()) {
    const auto rest = out.subspan(done);
    const size_t bytes =
        offset < data_at_ * block_size ? read_metadata(rest, offset) : read_data(rest, offset);
    if (bytes == 0) throw Error(Code::damaged, "a stream is shorter than it was");
    done += bytes;
    offset += static_cast<int64_t>(bytes);
  }
  return done;
}

// Reads from the metadata at `offset`: from one block of the superblock or the inodes, or from the folders.
// Returns the number of bytes read.
size_t Image::read_metadata(std::span<std::byte> out, int64_t offset) const {
  const int64_t block = offset / block_size;
  std::array<std::byte, block_size> made{};
  std::span<const std::byte> found = made;
  int64_t begin = 0;  // block number of the start of `found`
  if (block == 0) {
    erofs::put_superblock(made,
                          {items_.size(), static_cast<uint32_t>(blocks_), static_cast<uint32_t>(inodes_at_)});
  } else if (block < inodes_at_) {
    begin = 1;
    found = folders_;
  } else {
    const ImageItem& item = items_[static_cast<size_t>((block - inodes_at_) / inode_blocks)];
    begin = block;
    if ((block - inodes_at_) % inode_blocks == 0)
      put_inode(made, item);
    else
      erofs::put_attributes(made, extended_attributes(system_, item.node.number));
  }
  found = found.subspan(static_cast<size_t>(offset - begin * block_size));
  found = found.first(std::min(out.size(), found.size()));
  std::ranges::copy(found, out.begin());
  return found.size();
}

void Image::put_inode(std::span<std::byte> block, const ImageItem& item) const {
  struct stat status = attributes_of(system_, item.node);
  status.st_size = item.size;
  if (item.node.number == mount::Tree::root && !system_.for_all) {  // only the mounting user, as with FUSE
    status.st_uid = getuid();
    status.st_mode &= static_cast<mode_t>(S_IFMT | S_IRWXU);
  }
  erofs::put_inode(block, status, static_cast<uint32_t>(item.at));
}

// Reads the bytes of one stream, or the zeros between two streams. Returns the number of bytes read.
size_t Image::read_data(std::span<std::byte> out, int64_t offset) {
  const auto behind = std::ranges::upper_bound(files_, offset / block_size, {},
                                               [this](size_t file) { return items_[file].at; });
  const size_t file = *std::prev(behind);
  const int64_t within = offset - items_[file].at * block_size;
  const int64_t left = items_[file].size - within;
  if (left > 0)
    return readers_.of(items_[file].node)
        ->read_at(out.first(std::min(out.size(), static_cast<size_t>(left))), within);
  const int64_t next = (behind == files_.end() ? blocks_ : items_[*behind].at) * block_size;
  const auto zeros = out.first(std::min(out.size(), static_cast<size_t>(next - offset)));
  std::ranges::fill(zeros, std::byte{});
  return zeros.size();
}

}  // namespace sheaf::cli
