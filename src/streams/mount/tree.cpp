#include "streams/mount/tree.hpp"

#include <algorithm>
#include <functional>

#include "base/checked.hpp"
#include "base/error.hpp"

namespace sheaf::mount {

namespace {

// Number of bits for the stream in the number of a file. The bits above hold the index of the multifile plus
// one. Folders have smaller numbers.
constexpr int multifile_shift = 40;
constexpr uint64_t stream_mask = (uint64_t{1} << multifile_shift) - 1;

bool can_be_a_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.size() <= 255 && name.find('\0') == name.npos;
}

}  // namespace

Tree::Tree(std::vector<TreeMultifile> multifiles) : multifiles_(std::move(multifiles)) {
  folders_.emplace_back();
  const auto joins = [](const TreeMultifile& m) { return m.joins; };
  const bool several = std::ranges::count_if(multifiles_, std::not_fn(joins)) > 1;
  uint64_t folder = root;
  for (size_t m = 0; m < multifiles_.size(); ++m) {
    const std::string& name = multifiles_[m].name;
    if (several && !multifiles_[m].joins) {
      if (folders_.front().places.contains(name))
        throw Error(Code::invalid_argument,
                    "two multifiles are called '" + name + "': show them in two directories");
      folder = add_folder(root, name, m).number;
    }
    add_streams(folder, m);
  }
}

void Tree::add_streams(uint64_t folder, size_t multifile) {
  Streams& streams = *multifiles_[multifile].streams;
  if (Folder& f = folders_[folder - root]; !multifiles_[multifile].joins) {
    f.multifile = multifile;
    f.streams = &streams;
    f.computed = streams.computes_names();
    if (f.computed) return;
  }
  for (int64_t s = 0; s < streams.count(); ++s) add_named(folder, multifile, s);
}

void Tree::add_named(uint64_t folder, size_t multifile, int64_t stream) {
  const std::string whole = multifiles_[multifile].streams->name(stream);
  const auto refuse = [&](const std::string& why) {
    throw Error(Code::invalid_argument,
                "stream " + std::to_string(stream) + " is called '" + whole + "', " + why);
  };
  // Streams captured outside the directory of the set have absolute names. They are shown below the root,
  // without the first slash.
  for (std::string_view rest = std::string_view(whole).substr(whole.starts_with('/'));;) {
    const size_t slash = rest.find('/');
    const std::string name(rest.substr(0, slash));
    if (!can_be_a_name(name)) refuse("which no file can be");
    const auto there = find(folder, name);
    if (slash == rest.npos) {
      if (there) refuse("as another stream or folder is");
      return add(folder, {name, file_node(multifile, stream)});
    }
    if (there && !there->is_folder()) refuse("and another stream is called as its folder");
    folder = there ? there->number : add_folder(folder, name, multifile).number;
    rest.remove_prefix(slash + 1);
  }
}

void Tree::add(uint64_t folder, TreeEntry entry) {
  Folder& f = folders_[folder - root];
  f.places.emplace(entry.name, f.entries.size());
  f.subfolders += entry.node.is_folder();
  f.entries.push_back(std::move(entry));
}

TreeNode Tree::add_folder(uint64_t parent, const std::string& name, size_t multifile) {
  const uint64_t number = folders_.size() + root;
  folders_.emplace_back();
  folders_.back().parent = parent;
  folders_.back().multifile = multifile;
  folders_.back().streams = multifiles_[multifile].streams.get();
  const TreeNode node = folder_node(number);
  add(parent, {name, node});
  return node;
}

TreeNode Tree::folder_node(uint64_t number) const {
  const Folder& f = folders_[number - root];
  return {number, f.multifile, f.streams, -1};
}

TreeNode Tree::file_node(size_t multifile, int64_t stream) const {
  return {uint64_t{multifile + 1} << multifile_shift | static_cast<uint64_t>(stream), multifile,
          multifiles_[multifile].streams.get(), stream};
}

std::optional<TreeNode> Tree::at(uint64_t number) const {
  if (const uint64_t above = number >> multifile_shift; above > 0) {
    const auto stream = static_cast<int64_t>(number & stream_mask);
    if (above > multifiles_.size() || stream >= multifiles_[above - 1].streams->count()) return {};
    return file_node(above - 1, stream);
  }
  if (number < root || number - root >= folders_.size()) return {};
  return folder_node(number);
}

std::optional<TreeNode> Tree::find(uint64_t folder, std::string_view name) const {
  if (folder < root || folder - root >= folders_.size()) return {};
  const Folder& f = folders_[folder - root];
  if (const auto place = f.places.find(std::string(name)); place != f.places.end())
    return f.entries[place->second].node;
  if (!f.computed) return {};
  const auto stream = f.streams->find(name);
  return stream ? std::optional(file_node(f.multifile, *stream)) : std::nullopt;
}

std::optional<TreeEntry> Tree::entry(uint64_t folder, int64_t position) const {
  const Folder& f = folders_[folder - root];
  if (position < std::ssize(f.entries)) return f.entries[static_cast<size_t>(position)];
  position -= std::ssize(f.entries);
  if (!f.computed || position >= f.streams->count()) return {};
  return TreeEntry{f.streams->name(position), file_node(f.multifile, position)};
}

int64_t Tree::entries(uint64_t folder) const {
  const Folder& f = folders_[folder - root];
  return std::ssize(f.entries) + (f.computed ? f.streams->count() : 0);
}

std::vector<std::string> Tree::folder_paths() const {
  std::vector<std::string> paths(folders_.size());
  for (size_t f = 0; f < folders_.size(); ++f)  // a subfolder has a greater number than its parent
    for (const TreeEntry& e : folders_[f].entries)
      if (e.node.is_folder()) paths[e.node.number - root] = f == 0 ? e.name : paths[f] + "/" + e.name;
  paths.erase(paths.begin());
  return paths;
}

int64_t Tree::files() const {
  int64_t sum = 0;
  for (const TreeMultifile& m : multifiles_) sum += m.streams->count();
  return sum;
}

int64_t Tree::bytes() const {
  int64_t sum = 0;
  for (const TreeMultifile& m : multifiles_) sum = saturated_add(sum, m.streams->bytes());
  return sum;
}

bool Tree::knows_sizes() const {
  return std::ranges::all_of(multifiles_, [](const TreeMultifile& m) { return m.streams->knows_sizes(); });
}

}  // namespace sheaf::mount
