// support/stores/recording_tape: names, numbers and the state before the first change.
#include "support/stores/recording_tape.hpp"

#include <algorithm>

namespace sheaf {

namespace {

// Copies a file without its holes.
void copy_data(File& from, File& to) {
  constexpr int64_t step = 1 << 20;
  const int64_t size = from.status().size;
  to.resize(size);
  for (int64_t at = from.next(Space::data, 0); at < size; at = from.next(Space::data, at)) {
    const int64_t count = std::min(step - at % step, size - at);
    copy_range(from, to, at, at, count);
    at += count;
  }
}

}  // namespace

size_t RecordingStore::ChangeTape::number_of(const std::string& path, Store& inner) {
  const auto known = names_.find(path);
  if (known != names_.end()) return known->second;
  auto contents = std::make_shared<MemoryStore>();
  copy_data(*inner.open(path, Access::read), *contents->open(path, Access::fresh));
  initial_.push_back({files_, path, std::move(contents)});
  return names_[path] = files_++;
}

size_t RecordingStore::ChangeTape::created(const std::string& path) {
  names_[path] = files_;
  changes.push_back(
      {.kind = ChangeKind::create, .file = files_, .path = path, .to = {}, .offset = 0, .data = {}});
  return files_++;
}

void RecordingStore::ChangeTape::renamed(const std::string& from, const std::string& to) {
  const size_t file = names_.at(from);
  names_.erase(from);
  names_[to] = file;
  changes.push_back(
      {.kind = ChangeKind::rename, .file = file, .path = from, .to = to, .offset = 0, .data = {}});
}

void RecordingStore::ChangeTape::removed(const std::string& path) {
  const size_t file = names_.at(path);
  names_.erase(path);
  changes.push_back(
      {.kind = ChangeKind::remove, .file = file, .path = path, .to = {}, .offset = 0, .data = {}});
}

std::vector<std::shared_ptr<File>> RecordingStore::ChangeTape::initial_state(MemoryStore& into) const {
  std::vector<std::shared_ptr<File>> files(files_);
  for (const auto& initial : initial_) {
    files[initial.file] = into.open(initial.path, Access::fresh);
    copy_data(*initial.contents->open(initial.path, Access::read), *files[initial.file]);
  }
  return files;
}

}  // namespace sheaf
