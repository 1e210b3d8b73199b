#include "streams/mount/live_set.hpp"

#include <cerrno>

#include "base/error.hpp"

namespace sheaf::mount {

using streams::ContainerStream;
using streams::StreamOpening;
using streams::StreamStatus;

namespace {

constexpr size_t max_name = 255;

Error refused(int error, const std::string& path) { return os_error("cannot do that to", path, error); }

}  // namespace

uint64_t LiveSet::number_of(const std::string& path) {
  const auto [at, is_new] = numbers_.try_emplace(path, next_);
  if (is_new) nodes_[next_++].path = path;
  return at->second;
}

std::string LiveSet::path_of(uint64_t number) const {
  if (number == top_) return {};
  const auto node = nodes_.find(number);
  if (node == nodes_.end() || node->second.path.empty()) throw refused(ENOENT, set_->path());
  return node->second.path;
}

std::string LiveSet::path_in(uint64_t folder, std::string_view name) const {
  if (name.size() > max_name) throw refused(ENAMETOOLONG, std::string(name));
  std::string path = path_of(folder);
  if (!path.empty()) path += '/';
  return path.append(name);
}

std::string LiveSet::path_below(uint64_t folder, std::string_view name) {
  const std::lock_guard lock(mutex_);
  return path_in(folder, name);
}

// Removes the name `path` from its node. Open handles of the node stay valid.
void LiveSet::lose(const std::string& path) {
  const auto at = numbers_.find(path);
  if (at == numbers_.end()) return;
  nodes_[at->second].path.clear();
  numbers_.erase(at);
}

bool LiveSet::is_folder(const std::string& path) {
  {
    const std::lock_guard lock(mutex_);
    const auto below = folders_.lower_bound(path + "/");
    if (folders_.contains(path) || (below != folders_.end() && below->starts_with(path + "/"))) return true;
  }
  return !is_empty(path);
}

// Returns whether the folder at `path` has no streams.
bool LiveSet::is_empty(const std::string& path) {
  bool empty = true;
  set_->list(path + "/", [&](std::string_view, const StreamStatus&) { empty = false; });
  return empty;
}

std::optional<LiveSet::LiveEntry> LiveSet::find(uint64_t folder, std::string_view name) {
  const std::string path = path_below(folder, name);
  const auto status = set_->status(path);
  if (!status && !is_folder(path)) return {};
  const std::lock_guard lock(mutex_);
  const uint64_t number = number_of(path);
  ++nodes_[number].remembered;
  return LiveEntry{number, !status, status.value_or(StreamStatus{})};
}

LiveSet::LiveEntry LiveSet::at(uint64_t number) {
  if (const auto stream = opened(number)) return {number, false, stream->status()};
  std::string path;
  {
    const std::lock_guard lock(mutex_);
    path = path_of(number);
  }
  if (number == top_) return {number, true, {}};
  if (const auto status = set_->status(path)) return {number, false, *status};
  if (is_folder(path)) return {number, true, {}};
  throw refused(ENOENT, path);
}

void LiveSet::forget(uint64_t number, uint64_t times) {
  const std::lock_guard lock(mutex_);
  const auto node = nodes_.find(number);
  if (node == nodes_.end()) return;
  node->second.remembered -= std::min(node->second.remembered, times);
  if (node->second.remembered > 0) return;
  if (!node->second.path.empty()) numbers_.erase(node->second.path);
  nodes_.erase(node);
}

std::vector<LiveSet::LiveSetEntry> LiveSet::list(uint64_t folder) {
  const std::string prefix = path_below(folder, "");
  std::set<std::string> folders;
  std::vector<LiveSetEntry> found;
  const auto note = [&](std::string_view path, bool is_folder) {
    const std::string_view rest = path.substr(prefix.size());
    const size_t slash = rest.find('/');
    if (slash != rest.npos || is_folder)
      folders.emplace(rest.substr(0, slash));
    else
      found.push_back({std::string(rest), false});
  };
  set_->list(prefix, [&](std::string_view path, const StreamStatus&) { note(path, false); });
  const std::lock_guard lock(mutex_);
  for (auto at = folders_.lower_bound(prefix); at != folders_.end() && at->starts_with(prefix); ++at)
    note(*at, true);
  for (const std::string& name : folders) found.push_back({name, true});
  return found;
}

std::shared_ptr<ContainerStream> LiveSet::opened(uint64_t number) {
  {
    const std::lock_guard lock(mutex_);
    const auto node = nodes_.find(number);
    if (node == nodes_.end()) return nullptr;
    if (auto stream = node->second.open.lock()) return stream;
  }
  return nameless(number);
}

std::shared_ptr<ContainerStream> LiveSet::nameless(uint64_t number) {
  uint64_t stream = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto node = nodes_.find(number);
    if (node != nodes_.end() && node->second.path.empty()) stream = node->second.stream;
  }
  return stream == 0 ? nullptr : set_->open_number(stream);
}

std::shared_ptr<ContainerStream> LiveSet::open(uint64_t number, bool write, bool truncate) {
  std::string path;
  {
    const std::lock_guard lock(mutex_);
    path = path_of(number);
  }
  StreamOpening opening;
  opening.write = write;
  opening.truncate = truncate;
  auto stream = set_->open_stream(path, opening);
  if (!stream) throw refused(ENOENT, path);
  const uint64_t of_stream = stream->status().number;
  const std::lock_guard lock(mutex_);
  if (const auto node = nodes_.find(number); node != nodes_.end()) {
    node->second.open = stream;
    node->second.stream = of_stream;
  }
  return stream;
}

LiveSet::Created LiveSet::create(uint64_t folder, std::string_view name, uint32_t mode, bool exclusive,
                                 bool truncate) {
  const std::string path = path_below(folder, name);
  StreamOpening opening;
  opening.create = opening.write = true;
  opening.exclusive = exclusive;
  opening.truncate = truncate;
  opening.mode = mode;
  Created created;
  created.stream = set_->open_stream(path, opening);
  const std::lock_guard lock(mutex_);
  created.found = {number_of(path), false, created.stream->status()};
  LiveNode& node = nodes_[created.found.number];
  ++node.remembered;
  node.open = created.stream;
  node.stream = created.found.status.number;
  return created;
}

LiveSet::LiveEntry LiveSet::make_folder(uint64_t folder, std::string_view name) {
  const std::string path = path_below(folder, name);
  if (set_->status(path) || is_folder(path)) throw refused(EEXIST, path);
  const std::lock_guard lock(mutex_);
  folders_.insert(path);
  const uint64_t number = number_of(path);
  ++nodes_[number].remembered;
  return {number, true, {}};
}

void LiveSet::remove_folder(uint64_t folder, std::string_view name) {
  const std::string path = path_below(folder, name);
  if (set_->status(path)) throw refused(ENOTDIR, path);
  if (!is_empty(path)) throw refused(ENOTEMPTY, path);
  const std::lock_guard lock(mutex_);
  const auto below = folders_.lower_bound(path + "/");
  if (below != folders_.end() && below->starts_with(path + "/")) throw refused(ENOTEMPTY, path);
  if (folders_.erase(path) == 0) throw refused(ENOENT, path);
  lose(path);
}

void LiveSet::remove(uint64_t folder, std::string_view name) {
  const std::string path = path_below(folder, name);
  if (!set_->remove(path)) throw refused(is_folder(path) ? EISDIR : ENOENT, path);
  const std::lock_guard lock(mutex_);
  // Remember the folder, so that it still exists when it becomes empty, as on other file systems.
  if (folder != top_) folders_.insert(path_of(folder));
  lose(path);
}

void LiveSet::rename(uint64_t from_folder, std::string_view from, uint64_t to_folder, std::string_view to,
                     bool keep) {
  const std::string old_path = path_below(from_folder, from), path = path_below(to_folder, to);
  if (!set_->status(path) && is_folder(path)) throw refused(EISDIR, path);
  if (!set_->rename(old_path, path, keep))
    throw refused(is_folder(old_path) ? EXDEV : ENOENT, old_path);  // after EXDEV, programs copy the folder
  const std::lock_guard lock(mutex_);
  if (from_folder != top_) folders_.insert(path_of(from_folder));
  if (old_path == path) return;
  lose(path);
  if (const auto at = numbers_.find(old_path); at != numbers_.end()) {
    nodes_[at->second].path = path;
    numbers_.emplace(path, at->second);
    numbers_.erase(at);
  }
}

void LiveSet::truncate(uint64_t number, int64_t size) {
  if (const auto stream = nameless(number)) return stream->truncate(size);
  std::string path;
  {
    const std::lock_guard lock(mutex_);
    path = path_of(number);
  }
  if (!set_->truncate(path, size)) throw refused(ENOENT, path);
}

void LiveSet::set(uint64_t number, const streams::StreamAttributes& attributes) {
  if (const auto stream = opened(number)) return stream->set(attributes);
  const LiveEntry found = at(number);
  if (found.is_folder) return;  // folders have no attributes of their own
  const std::unique_lock lock(mutex_);
  if (!set_->set(path_of(number), attributes)) throw refused(ENOENT, path_of(number));
}

}  // namespace sheaf::mount
