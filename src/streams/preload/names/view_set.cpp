#include "streams/preload/names/view_set.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "storage/times.hpp"
#include "streams/mount/sources.hpp"

namespace sheaf::preload {

using streams::ContainerSet;
using streams::ContainerStream;
using streams::StreamAttributes;
using streams::StreamStatus;

namespace {

struct ViewAttributes {
  uint32_t mode = 0444;
  int64_t modified = 0;  // nanoseconds since 1970
};

struct ViewContents {
  mount::Tree tree;
  std::vector<ViewAttributes> looks;  // one for each multifile of the tree
};
using SharedViewContents = std::shared_ptr<const ViewContents>;

[[noreturn]] void refuse(const std::string& path) { throw os_error("cannot write", path, EROFS); }

ViewAttributes look_of(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return {};
  return {status.st_mode & 0444, nanoseconds(status.st_mtim)};
}

StreamStatus status_of(const ViewContents& view, const mount::TreeNode& node) {
  const mount::StreamFacts facts = node.streams->facts(node.stream);
  const ViewAttributes& look = view.looks[node.multifile];
  const int64_t modified = facts.modified != 0 ? facts.modified : look.modified;
  return {.number = node.number,
          .size = facts.size,
          .modified = modified,
          .changed = modified,
          .mode = facts.mode != 0 ? facts.mode & 0555 : look.mode};
}

class ViewStream final : public ContainerStream {
 public:
  ViewStream(SharedViewContents view, const mount::TreeNode& node)
      : view_(std::move(view)), node_(node), reader_(node.streams->open(node.stream)) {}

  size_t read(std::span<std::byte> data, int64_t offset) override {
    if (offset < 0) throw os_error("there is no such offset in", name(), EINVAL);
    return reader_->read_at(data, offset);
  }
  using ContainerStream::append;
  using ContainerStream::write;
  int64_t write(std::span<const std::span<const std::byte>>, int64_t, streams::WriteAt) override {
    refuse(name());
  }
  streams::Appended append(std::span<const std::span<const std::byte>>) override { refuse(name()); }
  void truncate(int64_t) override { refuse(name()); }
  void allocate(int64_t, int64_t, bool, Allocation) override { refuse(name()); }
  StreamStatus status() override { return status_of(*view_, node_); }
  void set(const StreamAttributes&) override { refuse(name()); }
  std::string name() override { return node_.streams->name(node_.stream); }
  // Report all bytes as data, so that programs that copy the file read the zeros of holes.
  std::optional<int64_t> next_data(int64_t offset) override { return within(offset, offset); }
  std::optional<int64_t> next_hole(int64_t offset) override { return within(offset, reader_->size()); }
  void flush() override {}
  void sync() override {}

 private:
  std::optional<int64_t> within(int64_t offset, int64_t found) const {
    return offset >= 0 && offset < reader_->size() ? std::optional(found) : std::nullopt;
  }

  const SharedViewContents view_;
  const mount::TreeNode node_;
  const std::unique_ptr<mount::ReadableStream> reader_;
};

class ViewSet final : public ContainerSet {
 public:
  ViewSet(SharedViewContents view, std::string directory)
      : view_(std::move(view)), path_(std::move(directory)) {}

  const std::string& path() const override { return path_; }
  std::shared_ptr<ContainerStream> open_stream(std::string_view name,
                                               const streams::StreamOpening& opening) override {
    const auto found = find(name);
    if (found && opening.create && opening.exclusive)
      throw os_error("cannot create", std::string(name), EEXIST);
    if ((found && (opening.write || opening.truncate)) || (!found && opening.create))
      refuse(std::string(name));
    return found ? std::make_shared<ViewStream>(view_, *found) : nullptr;
  }
  std::shared_ptr<ContainerStream> open_number(uint64_t number) override {
    const auto node = view_->tree.at(number);
    return node && !node->is_folder() ? std::make_shared<ViewStream>(view_, *node) : nullptr;
  }
  std::optional<StreamStatus> status(std::string_view name) override {
    if (const auto found = find(name)) return status_of(*view_, *found);
    return std::nullopt;
  }
  bool set(std::string_view name, const StreamAttributes&) override { return refuse_if_there(name); }
  bool truncate(std::string_view name, int64_t) override { return refuse_if_there(name); }
  bool remove(std::string_view name) override { return refuse_if_there(name); }
  bool rename(std::string_view from, std::string_view, bool) override { return refuse_if_there(from); }
  bool move_out(std::string_view name, const std::string&, const CopyOut&) override {
    return refuse_if_there(name);
  }
  // Passes no sizes to `visit`, because finding them would mean reading every stream. Directory listings need
  // only names and numbers.
  void list(std::string_view prefix, const Visit& visit) override {
    const size_t slash = prefix.rfind('/');
    const auto folder =
        slash == prefix.npos ? view_->tree.at(mount::Tree::root) : node(prefix.substr(0, slash));
    if (folder && folder->is_folder())
      list_folder(folder->number, std::string(prefix.substr(0, slash + 1)), prefix, visit);
  }
  void revalidate() override {}
  bool shared() override { return false; }

 private:
  // Returns the file or folder with the path `name`; nullopt if it does not exist.
  std::optional<mount::TreeNode> node(std::string_view name) const {
    std::optional<mount::TreeNode> found = view_->tree.at(mount::Tree::root);
    while (found && found->is_folder() && !name.empty()) {
      const size_t end = std::min(name.find('/'), name.size());
      found = view_->tree.find(found->number, name.substr(0, end));
      name.remove_prefix(std::min(end + 1, name.size()));
    }
    return name.empty() ? found : std::nullopt;
  }
  std::optional<mount::TreeNode> find(std::string_view name) const {
    const auto found = node(name);
    return found && !found->is_folder() ? found : std::nullopt;
  }
  bool refuse_if_there(std::string_view name) const {
    if (find(name)) refuse(std::string(name));
    return false;
  }
  void list_folder(uint64_t folder, const std::string& above, std::string_view prefix,
                   const Visit& visit) const {
    for (int64_t i = 0; const auto entry = view_->tree.entry(folder, i); ++i) {
      const std::string name = above + entry->name;
      if (!name.starts_with(prefix)) continue;
      if (entry->node.is_folder()) {
        list_folder(entry->node.number, name + "/", prefix, visit);
      } else {
        visit(name, {.number = entry->node.number});
      }
    }
  }

  const SharedViewContents view_;
  const std::string path_;
};

}  // namespace

std::shared_ptr<ContainerSet> open_view(Store& store, const std::string& directory,
                                        const std::vector<std::string>& paths) {
  const auto silent = [](const std::string&, const std::string&) {};  // `sheaf run` has printed the messages
  std::vector<mount::StreamSource> all;
  std::vector<ViewAttributes> looks;
  for (const std::string& path : paths) {
    const auto sources = mount::sources_of(store, path, multifile::Checking::on, true, silent);
    all.insert(all.end(), sources.begin(), sources.end());
    looks.resize(all.size(), look_of(mount::file_behind(store, path)));
  }
  return std::make_shared<ViewSet>(
      std::make_shared<ViewContents>(ViewContents{mount::tree_of(all), std::move(looks)}), directory);
}

}  // namespace sheaf::preload
