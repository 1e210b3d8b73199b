// support/stores/recording_replay: rebuilds files from the list of changes, completely or after a loss of
// power.
#include <algorithm>
#include <array>
#include <random>

#include "support/stores/recording_store.hpp"
#include "support/stores/recording_tape.hpp"

namespace sheaf {

namespace {

using ChangeTape = RecordingStore::ChangeTape;
using ChangeKind = ChangeTape::ChangeKind;

constexpr int64_t sector_bytes = 512;  // unit that a disk writes whole or not at all

bool changes_names(ChangeKind kind) {
  return kind == ChangeKind::create || kind == ChangeKind::rename || kind == ChangeKind::remove;
}

void apply(const ChangeTape::RecordedChange& change, std::vector<std::shared_ptr<File>>& files,
           MemoryStore& into) {
  switch (change.kind) {
    case ChangeKind::create:
      files[change.file] = into.open(change.path, Access::fresh);
      break;
    case ChangeKind::write:
      files[change.file]->write_at(change.data, change.offset);
      break;
    case ChangeKind::resize:
      files[change.file]->resize(change.offset);
      break;
    case ChangeKind::sync:
      break;
    case ChangeKind::rename:
      into.rename(change.path, change.to);
      break;
    case ChangeKind::remove:
      into.remove(change.path);
      break;
  }
}

// Decides which changes to one file survive a loss of power although no sync made them durable.
class PowerLoss {
 public:
  explicit PowerLoss(uint64_t seed)
      : random_(seed), keep_percent_(std::array{0, 10, 50, 90, 100}[random_() % 5]) {}

  // Returns a number in [low, high].
  size_t between(size_t low, size_t high) { return low + random_() % (high - low + 1); }

  bool keeps() { return random_() % 100 < static_cast<uint64_t>(keep_percent_); }

  void write_some(const ChangeTape::RecordedChange& change, File& file) {
    auto data = std::span<const std::byte>(change.data);
    int64_t offset = change.offset;
    while (!data.empty()) {
      const auto count = std::min(data.size(), static_cast<size_t>(sector_bytes - offset % sector_bytes));
      const int64_t end = offset + static_cast<int64_t>(count);
      if (keeps()) {
        file.write_at(data.first(count), offset);
      } else if (random_() % 4 == 0 && file.status().size < end) {
        file.resize(end);
      }
      data = data.subspan(count);
      offset = end;
    }
  }

 private:
  std::mt19937_64 random_;
  const int keep_percent_;
};

}  // namespace

void RecordingStore::replay(size_t prefix, MemoryStore& into) const {
  const std::lock_guard lock(tape_->mutex);
  auto files = tape_->initial_state(into);
  for (size_t i = 0; i < prefix; ++i) apply(tape_->changes.at(i), files, into);
}

void RecordingStore::replay_losing_unsynced(size_t prefix, uint64_t seed, MemoryStore& into) const {
  const std::lock_guard lock(tape_->mutex);
  auto files = tape_->initial_state(into);
  std::vector<size_t> safe(
      files.size(), 0);  // element i: number of the last sync of file i; earlier changes to it are on disk
  size_t safe_names = 0;
  for (size_t i = 0; i < prefix; ++i)
    if (tape_->changes.at(i).kind == ChangeKind::sync) safe_names = safe[tape_->changes[i].file] = i;

  PowerLoss loss(seed);
  const size_t last_name = loss.between(safe_names, prefix);
  for (size_t i = 0; i < prefix; ++i) {
    const auto& change = tape_->changes[i];
    if (changes_names(change.kind)) {
      if (i < last_name) apply(change, files, into);
    } else if (files[change.file] == nullptr) {
      continue;
    } else if (i < safe[change.file]) {
      apply(change, files, into);
    } else if (change.kind == ChangeKind::write) {
      loss.write_some(change, *files[change.file]);
    } else if (loss.keeps()) {
      apply(change, files, into);
    }
  }
}

}  // namespace sheaf
