// streams/mount/tree: the files and folders of a mount, and their inode numbers.
//
// A single multifile is the root; several multifiles are folders of the root. Slashes in stream names create
// further folders. Numbers stay the same during the lifetime of the tree. If a multifile computes stream
// names from task numbers, the tree does not store them, so that a million streams take no memory.
// Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "streams/mount/streams.hpp"

namespace sheaf::mount {

// A file or a folder.
struct TreeNode {
  uint64_t number = 0;
  size_t multifile = 0;        // index in the constructor's argument; 0 for a root above several multifiles
  Streams* streams = nullptr;  // streams of that multifile; null for a root above several multifiles
  int64_t stream = -1;         // number of the stream of a file; negative for a folder
  bool is_folder() const { return stream < 0; }
};

struct TreeEntry {
  std::string name;
  TreeNode node;
};

class Tree {
 public:
  static constexpr uint64_t root = 1;

  struct TreeMultifile {
    std::string name;  // name of its folder if the tree has several multifiles
    std::shared_ptr<Streams> streams;
    bool joins = false;  // these streams belong to the preceding multifile and share its folder
  };
  // Throws `invalid_argument` if two multifiles have the same name, or if a stream name is not a valid file
  // name.
  explicit Tree(std::vector<TreeMultifile> multifiles);

  // Returns the file or folder with this number; nullopt if there is none.
  std::optional<TreeNode> at(uint64_t number) const;
  // Returns the entry `name` of the folder; nullopt if there is none.
  std::optional<TreeNode> find(uint64_t folder, std::string_view name) const;
  // Returns the entry of a folder at `position`, counted from 0; nullopt after the last one.
  std::optional<TreeEntry> entry(uint64_t folder, int64_t position) const;
  int64_t entries(uint64_t folder) const;  // number of entries
  uint64_t parent(uint64_t folder) const { return folders_[folder - root].parent; }
  // Returns the number of folders directly in `folder`.
  int64_t subfolders(uint64_t folder) const { return folders_[folder - root].subfolders; }
  // Returns the paths of all folders except the root, relative to the root: "a", "a/b".
  std::vector<std::string> folder_paths() const;
  // Return the number of files and the stored size in bytes, both over all multifiles.
  int64_t files() const;
  int64_t bytes() const;
  // Returns true if the sizes of all streams are available without reading.
  bool knows_sizes() const;

 private:
  struct Folder {
    uint64_t parent = root;
    size_t multifile = 0;
    Streams* streams = nullptr;
    bool computed = false;  // contains all streams, with names computed by `streams`
    int64_t subfolders = 0;
    std::vector<TreeEntry> entries;
    std::unordered_map<std::string, size_t> places;  // index in `entries` by name
  };
  TreeNode folder_node(uint64_t number) const;
  TreeNode file_node(size_t multifile, int64_t stream) const;
  TreeNode add_folder(uint64_t parent, const std::string& name, size_t multifile);
  void add_streams(uint64_t folder, size_t multifile);
  void add_named(uint64_t folder, size_t multifile, int64_t stream);
  void add(uint64_t folder, TreeEntry entry);

  std::vector<TreeMultifile> multifiles_;
  std::vector<Folder> folders_;  // index: number of the folder minus `root`
};

}  // namespace sheaf::mount
