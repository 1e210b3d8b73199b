// cli/mount/folders: lists folders, with or without the attributes of the entries. A listing with attributes
// saves the kernel one request per entry.
#include <vector>

#include "cli/mount/answer.hpp"

namespace sheaf::cli {

namespace {

constexpr off_t dots = 2;                 // number of entries before those of the tree: "." and ".."
constexpr ino_t any_number = 0xffffffff;  // number of an entry that the kernel has not looked up yet

struct FolderItem {
  std::string name;
  bool is_folder = false;
  uint64_t number = any_number;
  std::optional<mount::TreeNode> node;  // for entries of the tree
};

std::optional<FolderItem> dot_at(const MountedFileSystem& system, fuse_ino_t folder, off_t position) {
  if (position == 0) return FolderItem{".", true, folder, {}};
  return FolderItem{"..", true, live_at(system, folder) ? mount::Tree::root : system.tree.parent(folder), {}};
}

// Returns the entry of a folder at `position`; nullopt after the last one. The entries are ".", "..", those
// of the tree, and then those of the live set in the handle.
std::optional<FolderItem> item_at(const MountedFileSystem& system, fuse_ino_t folder,
                                  const fuse_file_info* info, off_t position) {
  if (position < dots) return dot_at(system, folder, position);
  position -= dots;
  const off_t in_tree = live_at(system, folder) ? 0 : system.tree.entries(folder);
  if (position < in_tree) {
    const auto entry = system.tree.entry(folder, position);
    return FolderItem{entry->name, entry->node.is_folder(), entry->node.number, entry->node};
  }
  position -= in_tree;
  if (info->fh == 0 || position >= std::ssize(opened(info).of_live_set)) return {};
  const auto& listed = opened(info).of_live_set[static_cast<size_t>(position)];
  return FolderItem{listed.name, listed.is_folder, any_number, {}};
}

struct stat type_of(const FolderItem& item) {
  struct stat attributes {};
  attributes.st_ino = item.number;
  attributes.st_mode = item.is_folder ? S_IFDIR : S_IFREG;
  return attributes;
}

// Returns an entry for a listing with attributes. An entry with number 0 has only a name and a type; the
// kernel looks up its attributes on demand.
fuse_entry_param entry_of(const MountedFileSystem& system, const FolderItem& item) {
  fuse_entry_param entry{};
  entry.attr = type_of(item);
  if (!item.node || !(item.is_folder || item.node->streams->knows_sizes())) return entry;
  entry.ino = item.number;
  entry.attr = attributes_of(system, *item.node);
  entry.attr_timeout = entry.entry_timeout = for_long;
  return entry;
}

// Replies with the entries of a folder from position `offset` on, as many as fit into `size` bytes. add(at,
// room, item, position) must work as fuse_add_direntry() does.
template <class Add>
void fill(fuse_req_t request, fuse_ino_t folder, size_t size, off_t offset, const fuse_file_info* info,
          Add&& add) {
  answer(request, [&](const MountedFileSystem& system) {
    std::vector<char> buffer(size);
    size_t used = 0;
    for (off_t position = offset; const auto item = item_at(system, folder, info, position); ++position) {
      const size_t needed = add(system, buffer.data() + used, size - used, *item, position);
      if (needed > size - used) break;
      used += needed;
    }
    fuse_reply_buf(request, buffer.data(), used);
  });
}

}  // namespace

void open_folder(fuse_req_t request, fuse_ino_t number, fuse_file_info* info) {
  answer(request, [&](const MountedFileSystem& system) {
    if (!system.opens_folders) return refuse_opens(request);
    auto what = std::make_unique<FuseHandle>();
    if (mount::LiveSet* const live = live_in(system, number))
      what->of_live_set = live->list(number);
    else if (node_at(system, number).is_folder())
      info->cache_readdir = info->keep_cache = 1;
    else
      throw Error(Code::invalid_argument, "a file is no folder", ENOTDIR);
    reply_opened(request, std::move(what), info);
  });
}

void read_folder(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, fuse_file_info* info) {
  fill(request, number, size, offset, info,
       [&](const MountedFileSystem&, char* at, size_t room, const FolderItem& item, off_t position) {
         const struct stat type = type_of(item);
         return fuse_add_direntry(request, at, room, item.name.c_str(), &type, position + 1);
       });
}

void read_folder_plus(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset,
                      fuse_file_info* info) {
  fill(request, number, size, offset, info,
       [&](const MountedFileSystem& system, char* at, size_t room, const FolderItem& item, off_t position) {
         const fuse_entry_param entry = entry_of(system, item);
         return fuse_add_direntry_plus(request, at, room, item.name.c_str(), &entry, position + 1);
       });
}

}  // namespace sheaf::cli
