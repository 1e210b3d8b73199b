// support/stores/recording_store: the calls of the decorator. Each call makes its change and records it while
// it holds one lock, so the tape has the changes in the order of the store.
#include "support/stores/recording_store.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "storage/decorators/forwarding_file.hpp"
#include "support/stores/recording_tape.hpp"

namespace sheaf {

namespace {

using ChangeKind = RecordingStore::ChangeTape::ChangeKind;

class RecordingFile final : public ForwardingFile {
 public:
  RecordingFile(std::shared_ptr<File> inner, size_t number, std::shared_ptr<RecordingStore::ChangeTape> tape)
      : ForwardingFile(std::move(inner)), number_(number), tape_(std::move(tape)) {}

  void write_at(std::span<const std::byte> data, int64_t offset) override {
    const std::lock_guard lock(tape_->mutex);
    inner().write_at(data, offset);
    if (!data.empty()) record(ChangeKind::write, offset, {data.begin(), data.end()});
  }
  void resize(int64_t size) override {
    const std::lock_guard lock(tape_->mutex);
    inner().resize(size);
    record(ChangeKind::resize, size);
  }
  void sync() override {
    const std::lock_guard lock(tape_->mutex);
    inner().sync();
    record(ChangeKind::sync);
  }

 private:
  void record(ChangeKind kind, int64_t offset = 0, std::vector<std::byte> data = {}) {
    tape_->changes.push_back(
        {.kind = kind, .file = number_, .path = path(), .to = {}, .offset = offset, .data = std::move(data)});
  }

  const size_t number_;
  const std::shared_ptr<RecordingStore::ChangeTape> tape_;
};

}  // namespace

RecordingStore::RecordingStore(Store& inner)
    : ForwardingStore(inner), tape_(std::make_shared<ChangeTape>()) {}
RecordingStore::~RecordingStore() = default;

std::shared_ptr<File> RecordingStore::open(const std::string& path, Access access) {
  const std::lock_guard lock(tape_->mutex);
  const bool existed = inner().status(path).exists;
  auto file = inner().open(path, access);
  const size_t number = existed ? tape_->number_of(path, inner()) : tape_->created(path);
  return std::make_shared<RecordingFile>(std::move(file), number, tape_);
}

bool RecordingStore::make_in_stripes(const std::string& path, const Striping& wanted) {
  const std::lock_guard lock(tape_->mutex);
  if (!inner().make_in_stripes(path, wanted)) return false;
  tape_->created(path);
  tape_->changes.back().striping = wanted;
  return true;
}

void RecordingStore::remove(const std::string& path) {
  const std::lock_guard lock(tape_->mutex);
  if (!inner().status(path).is_directory && inner().status(path).exists) tape_->number_of(path, inner());
  inner().remove(path);
  tape_->removed(path);
}

void RecordingStore::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(tape_->mutex);
  for (const auto& path : {from, to}) {
    const auto found = inner().status(path);
    if (found.exists && !found.is_directory) tape_->number_of(path, inner());
  }
  inner().rename(from, to);
  tape_->renamed(from, to);
}

size_t RecordingStore::length() const {
  const std::lock_guard lock(tape_->mutex);
  return tape_->changes.size();
}

bool RecordingStore::has_renamed() const {
  const std::lock_guard lock(tape_->mutex);
  return std::ranges::any_of(tape_->changes, [](const auto& c) { return c.kind == ChangeKind::rename; });
}

std::string RecordingStore::describe(size_t change) const {
  const std::lock_guard lock(tape_->mutex);
  const auto& c = tape_->changes.at(change);
  switch (c.kind) {
    case ChangeKind::create:
      return "create " + c.path +
             (c.striping.is_wished() ? " in stripes of " + std::to_string(c.striping.unit) + " bytes on " +
                                           std::to_string(c.striping.count) + " servers"
                                     : "");
    case ChangeKind::write:
      return "write " + std::to_string(c.data.size()) + " bytes at " + std::to_string(c.offset) + " of " +
             c.path;
    case ChangeKind::resize:
      return "resize to " + std::to_string(c.offset) + " bytes " + c.path;
    case ChangeKind::sync:
      return "sync " + c.path;
    case ChangeKind::rename:
      return "rename " + c.path + " to " + c.to;
    case ChangeKind::remove:
      return "remove " + c.path;
  }
  return "unknown";
}

}  // namespace sheaf
