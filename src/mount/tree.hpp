// mount/tree: the files and folders that a mount shows, and the numbers (inode numbers) that they have.
//
// A single multifile is the root; of several, each is a folder of the root. Streams whose names have slashes
// are in folders of folders. Numbers stay what they are as long as the tree is there. Nothing is kept of
// streams whose names can be computed, so a multifile of a million tasks takes no memory here. From any
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "mount/streams.hpp"

namespace sheaf::mount {

// A file or a folder.
struct Node {
  uint64_t number = 0;
  size_t multifile = 0;        // as given to the tree; of the root of several: 0
  Streams* streams = nullptr;  // of the multifile; null for the root of several
  int64_t stream = -1;         // of a file
  bool is_folder() const { return stream < 0; }
};

struct Entry {
  std::string name;
  Node node;
};

class Tree {
 public:
  static constexpr uint64_t root = 1;

  struct Multifile {
    std::string name;  // of its folder, where there are several
    std::shared_ptr<Streams> streams;
    bool joins = false;  // these streams lie where those before them do: they are of one multifile
  };
  // Throws invalid_argument if two have one name, or one has a stream of a name that no file can have.
  explicit Tree(std::vector<Multifile> multifiles);

  // Nothing if no file and no folder has that number.
  std::optional<Node> at(uint64_t number) const;
  // Nothing if the folder has none of that name.
  std::optional<Node> find(uint64_t folder, std::string_view name) const;
  // The entry of a folder at `position`, which counts from 0; nothing behind the last one.
  std::optional<Entry> entry(uint64_t folder, int64_t position) const;
  int64_t entries(uint64_t folder) const;  // how many there are
  uint64_t parent(uint64_t folder) const { return folders_[folder - root].parent; }
  // Folders that lie in this one.
  int64_t subfolders(uint64_t folder) const { return folders_[folder - root].subfolders; }
  // Of all folders but the root, from there: "a", "a/b".
  std::vector<std::string> folder_paths() const;
  // Of all multifiles.
  int64_t files() const;
  int64_t bytes() const;
  bool knows_sizes() const;

 private:
  struct Folder {
    uint64_t parent = root;
    size_t multifile = 0;
    Streams* streams = nullptr;
    bool computed = false;  // all streams lie here, under names that `streams` makes
    int64_t subfolders = 0;
    std::vector<Entry> entries;
    std::unordered_map<std::string, size_t> places;  // in entries, by name
  };
  Node folder_node(uint64_t number) const;
  Node file_node(size_t multifile, int64_t stream) const;
  Node add_folder(uint64_t parent, const std::string& name, size_t multifile);
  void add_streams(uint64_t folder, size_t multifile);
  void add_named(uint64_t folder, size_t multifile, int64_t stream);
  void add(uint64_t folder, Entry entry);

  std::vector<Multifile> multifiles_;
  std::vector<Folder> folders_;  // number 1 first
};

}  // namespace sheaf::mount
