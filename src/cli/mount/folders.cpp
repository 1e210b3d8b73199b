// The lists of folders: names alone, or with the attributes, which saves the kernel a request for each.
#include <vector>

#include "cli/mount/answer.hpp"

namespace sheaf::cli {

namespace {

// Before the entries of the tree.
constexpr off_t dots = 2;

// The entry at `position` of a folder: name, number, type.
std::optional<mount::Entry> entry_at(const mount::Tree& tree, fuse_ino_t folder, off_t position) {
  if (position >= dots) return tree.entry(folder, position - dots);
  const uint64_t number = position == 0 ? folder : tree.parent(folder);
  return mount::Entry{position == 0 ? "." : "..", *tree.at(number)};
}

struct stat type_of(const mount::Node& node) {
  struct stat attributes {};
  attributes.st_ino = node.number;
  attributes.st_mode = node.is_folder() ? S_IFDIR : S_IFREG;
  return attributes;
}

// One of number 0 tells only the name: the kernel asks for the rest if anybody wants it.
fuse_entry_param entry_of(const FileSystem& system, const mount::Node& node, bool with_attributes) {
  fuse_entry_param entry{};
  entry.attr = type_of(node);
  if (!with_attributes) return entry;
  entry.ino = node.number;
  entry.attr = attributes_of(system, node);
  entry.attr_timeout = entry.entry_timeout = for_long;
  return entry;
}

// add(at, room, entry, position, next): as fuse_add_direntry().
template <class Add>
void fill(fuse_req_t request, fuse_ino_t folder, size_t size, off_t offset, Add&& add) {
  answer(request, [&](const FileSystem& system) {
    if (!node_at(system, folder).is_folder())
      throw Error(Code::invalid_argument, "a file is no folder", ENOTDIR);
    std::vector<char> buffer(size);
    size_t used = 0;
    for (off_t position = offset; const auto entry = entry_at(system.tree, folder, position); ++position) {
      const size_t needed = add(system, buffer.data() + used, size - used, *entry, position);
      if (needed > size - used) break;
      used += needed;
    }
    fuse_reply_buf(request, buffer.data(), used);
  });
}

}  // namespace

void read_folder(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, fuse_file_info*) {
  fill(request, number, size, offset,
       [&](const FileSystem&, char* at, size_t room, const mount::Entry& entry, off_t position) {
         const struct stat type = type_of(entry.node);
         return fuse_add_direntry(request, at, room, entry.name.c_str(), &type, position + 1);
       });
}

void read_folder_plus(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, fuse_file_info*) {
  fill(request, number, size, offset,
       [&](const FileSystem& system, char* at, size_t room, const mount::Entry& entry, off_t position) {
         const bool known = entry.node.is_folder() || entry.node.streams->knows_sizes();
         const fuse_entry_param param = entry_of(system, entry.node, position >= dots && known);
         return fuse_add_direntry_plus(request, at, room, entry.name.c_str(), &param, position + 1);
       });
}

}  // namespace sheaf::cli
